/** What a worker should not do; `guards.html` starts it. */
console.error("an error of the worker");
fetch("http://elsewhere.invalid/worker").catch(() => {});
