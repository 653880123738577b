#!/usr/bin/env node
import module from 'node:module'

// The terminal board is drawn by React, whose development build is slower and talks more.
process.env.NODE_ENV ??= 'production'
module.enableCompileCache?.()
const { main } = await import('../dist/cli/main.js')
process.exitCode = await main()
