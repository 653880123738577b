#!/usr/bin/env node
import module from 'node:module'
import v8 from 'node:v8'

// It waits most of its life: memory that a box could use is worth more than the speed of its code.
v8.setFlagsFromString('--optimize-for-size')
v8.setFlagsFromString('--max-lazy')
module.enableCompileCache?.()
const { main } = await import('../dist/agent/program/main.js')
process.exitCode = await main()
