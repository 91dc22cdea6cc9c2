"""One file a kind of case: a frozen description of sizes with a method `measure(findings, bench)`."""
