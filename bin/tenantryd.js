#!/usr/bin/env node
import module from 'node:module'

module.enableCompileCache?.()
const { keepYoungHeapSmall } = await import('../dist/node/young-heap.js')
keepYoungHeapSmall()
const { main } = await import('../dist/daemon/program/main.js')
process.exitCode = await main()
