"""From a configuration to the objects of the library.

`assemble` builds prompts, heads, problem and stepper; `embedding` puts the data into the tokens' space; `magnitudes` and `reach` refuse what could
not end well.
"""
