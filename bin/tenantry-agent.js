#!/usr/bin/env node
import module from 'node:module'
import v8 from 'node:v8'
import './check-node.js'

// The agent is idle most of the time: memory for boxes matters more than its own speed.
v8.setFlagsFromString('--optimize-for-size')
v8.setFlagsFromString('--max-lazy')
module.enableCompileCache?.()
const { main } = await import('../dist/agent/program/main.js')
process.exitCode = await main()
