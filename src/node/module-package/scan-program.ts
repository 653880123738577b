import { buffer } from 'node:stream/consumers'
import { scanPackage } from './scan-package.ts'

// The process of one scan: reads the zip from stdin and sends the report to its parent.

process.send?.(await scanPackage(await buffer(process.stdin)))
