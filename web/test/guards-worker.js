/** Everything a worker should not do; started by `guards.html`. */
console.error("an error of the worker");
fetch("http://elsewhere.invalid/worker").catch(() => {});
