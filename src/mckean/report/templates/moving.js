"use strict";
(() => {
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) { part.open = true; opened.push(part); }
  });
  addEventListener("afterprint", () => { for (const part of opened.splice(0)) part.open = false; });

  const source = document.getElementById("moving-data");
  if (!source) return;
  const film = JSON.parse(source.textContent);
  const times = film.times, last = times.length - 1;
  const ABSENT = 65535, LEVELS = 65534, SECONDS = 6;
  const play = document.getElementById("play"), slider = document.getElementById("depth");
  const clock = document.getElementById("clock"), stage = document.getElementById("stage");
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  const decode = (text, tokens) => {
    const raw = atob(text), view = new DataView(new ArrayBuffer(raw.length));
    for (let i = 0; i < raw.length; i++) view.setUint8(i, raw.charCodeAt(i));
    return (depth, token, axis) => view.getUint16(2 * ((depth * tokens + token) * 2 + axis), true);
  };

  const panels = film.prompts.map((prompt) => {
    const box = document.createElement("div"), canvas = document.createElement("canvas"), label = document.createElement("p");
    label.textContent = prompt.label;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Tokens of " + prompt.label + " at the depth of the slider");
    box.append(canvas, label);
    stage.append(box);
    return { prompt, canvas, at: decode(prompt.data, prompt.tokens) };
  });

  const colours = () => {
    const css = getComputedStyle(document.documentElement), read = (name) => css.getPropertyValue(name).trim();
    return { ramp: Array.from({ length: 8 }, (_, i) => read("--ramp" + i)), path: read("--faint"), edge: read("--card") };
  };

  const draw = (place) => {
    const theme = colours(), before = Math.min(Math.floor(place), Math.max(last - 1, 0)), part = place - before;
    const after = Math.min(before + 1, last);
    for (const { prompt, canvas, at } of panels) {
      const side = canvas.clientWidth, scale = devicePixelRatio || 1;
      canvas.width = canvas.height = Math.round(side * scale);
      const pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      const pixel = (depth, token) => {
        const x = at(depth, token, 0), y = at(depth, token, 1);
        return x === ABSENT || y === ABSENT ? null : [x / LEVELS * side, (1 - y / LEVELS) * side];
      };
      const now = (token) => {
        const a = pixel(before, token), b = pixel(after, token);
        return a && b ? [a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])] : null;
      };
      pen.strokeStyle = theme.path;
      pen.lineWidth = 0.8;
      pen.beginPath();
      for (let token = 0; token < prompt.tokens; token++) {
        let down = false;
        for (let depth = 0; depth <= before; depth++) {
          const spot = pixel(depth, token);
          if (spot) { if (down) pen.lineTo(...spot); else pen.moveTo(...spot); }
          down = spot !== null;
        }
        const spot = now(token);
        if (spot && down) pen.lineTo(...spot);
      }
      pen.stroke();
      const base = Math.min(26, Math.max(2.2, 900 / prompt.tokens)) * side / 200;
      pen.lineWidth = 0.6;
      pen.strokeStyle = theme.edge;
      for (let token = 0; token < prompt.tokens; token++) {
        const spot = now(token);
        if (!spot) continue;
        pen.fillStyle = theme.ramp[prompt.colours[token]];
        pen.beginPath();
        pen.arc(spot[0], spot[1], Math.sqrt(base * prompt.areas[token]), 0, 2 * Math.PI);
        pen.fill();
        pen.stroke();
      }
    }
    const t = times[before] + part * (times[after] - times[before]);
    clock.textContent = "t = " + t.toFixed(2);
    slider.setAttribute("aria-valuetext", "t = " + t.toFixed(2));
  };

  let started = null;
  const place = () => slider.value / 1000 * last;
  const stop = () => { started = null; play.textContent = "Play"; };
  const step = (now) => {
    if (started === null) return;
    let share = Math.min(1, (now - started) / 1000 / SECONDS);
    slider.value = Math.round(1000 * share);
    // Whoever asks for less motion sees the saved depths one after another, without sliding between them.
    draw(still.matches ? Math.round(share * last) : share * last);
    if (share < 1) requestAnimationFrame(step); else stop();
  };
  play.addEventListener("click", () => {
    if (started !== null) { stop(); return; }
    const from = slider.value >= 1000 ? 0 : slider.value / 1000;
    play.textContent = "Pause";
    started = performance.now() - 1000 * SECONDS * from;
    requestAnimationFrame(step);
  });
  slider.addEventListener("input", () => { stop(); draw(place()); });
  document.getElementById("moving").hidden = false;
  new ResizeObserver(() => draw(place())).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(place()));
  draw(place());
})();
