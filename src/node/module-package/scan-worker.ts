import { parentPort, workerData } from 'node:worker_threads'
import { scanPackage } from './scan-package.ts'

// The thread of one scan: gets the zip as worker data and posts the report.

const zip: Uint8Array = workerData
// `Buffer.from(zip)` would copy it.
parentPort?.postMessage(await scanPackage(Buffer.from(zip.buffer, zip.byteOffset, zip.length)))
