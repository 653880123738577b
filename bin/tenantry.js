#!/usr/bin/env node
import module from 'node:module'
import './check-node.js'

// The board uses React, whose development build is slower and prints warnings.
process.env.NODE_ENV ??= 'production'
module.enableCompileCache?.()
const { main } = await import('../dist/cli/main.js')
process.exitCode = await main()
