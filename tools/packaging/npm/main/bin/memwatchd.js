#!/usr/bin/env node
// Runs the program of the package for this platform.
"use strict";
const { spawn } = require("child_process");
const os = require("os");

const name = `@memwatchd/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/memwatchd`);
} catch {
  console.error(`memwatchd: the package ${name} is not installed; install memwatchd with optional dependencies,`);
  console.error("or see https://github.com/memwatchd/memwatchd for other ways. On Windows, use WSL.");
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`memwatchd: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
