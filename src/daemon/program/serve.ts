import type { Globals, Machine } from '../../node/command-line.ts'
import { makeLogger } from '../../node/index.ts'
import { letYoungHeapGrow } from '../../node/young-heap.ts'
import { startDaemon } from '../daemon.ts'
import { rehearseInWorker } from '../rehearse-in-worker.ts'
import { settingsOf } from './installation.ts'

/** Runs the daemon until SIGINT or SIGTERM, then finishes requests and releases its leases. */
export async function serveDaemon(machine: Machine, options: Globals): Promise<undefined> {
  const { clock, random, signal, stdout } = machine
  const config = settingsOf(machine, options)
  const log = makeLogger({ form: config.log ?? (stdout.isTTY ? 'pretty' : 'json'), level: config.logLevel, program: 'tenantryd' })
  const daemon = await startDaemon({ config, clock, random, log, rehearse: rehearseInWorker(config.databaseUrl) })
  letYoungHeapGrow()
  await new Promise<void>((ended) => {
    signal.addEventListener('abort', () => ended())
    if (signal.aborted) ended()
  })
  log.info('shutting down: finishing requests')
  await daemon.close()
  log.info('stopped')
  return undefined
}
