#!/usr/bin/env node
import module from 'node:module'
import './check-node.js'

module.enableCompileCache?.()
// The AWS SDK is pinned by the lockfile; its warning about future Node versions means nothing to operators.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
const { keepHeapSmall } = await import('../dist/node/heap-growth.js')
keepHeapSmall()
const { main } = await import('../dist/daemon/program/main.js')
process.exitCode = await main()
