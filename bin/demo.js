#!/usr/bin/env node
const { main } = await import('../dist/demo/main.js')
process.exitCode = await main()
