import { parentPort, workerData } from 'node:worker_threads'
import { scanPackage } from './scan-package.ts'

// The thread of one scan: gets the zip as worker data and posts the report.

parentPort?.postMessage(await scanPackage(Buffer.from(workerData)))
