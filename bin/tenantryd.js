#!/usr/bin/env node
import module from 'node:module'

module.enableCompileCache?.()
// The store of files is reached by what the lockfile holds, and nothing newer is fetched: its maker's word on coming versions is none to operators.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
const { keepYoungHeapSmall } = await import('../dist/node/young-heap.js')
keepYoungHeapSmall()
const { main } = await import('../dist/daemon/program/main.js')
process.exitCode = await main()
