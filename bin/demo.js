#!/usr/bin/env node
import './check-node.js'

const { main } = await import('../dist/demo/main.js')
process.exitCode = await main()
