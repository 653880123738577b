import type { ExitCode } from '../../core/kit/index.ts'
import type { Globals, Machine } from '../../node/command-line.ts'
import { letHeapGrow } from '../../node/heap-growth.ts'
import { installLastResort, makeLogger } from '../../node/index.ts'
import { startDaemon } from '../daemon.ts'
import { rehearseInWorker } from '../rehearse-in-worker.ts'
import { settingsOf } from './installation.ts'

/** Runs the daemon until SIGINT, SIGTERM or an error that nothing handled, then finishes requests and releases its leases. */
export async function serveDaemon(machine: Machine, options: Globals): Promise<ExitCode> {
  const { clock, random, stdout } = machine
  const config = settingsOf(machine, options)
  const log = makeLogger({ form: config.log ?? (stdout.isTTY ? 'pretty' : 'json'), level: config.logLevel, program: 'tenantryd' })
  const lastResort = installLastResort(log)
  const signal = AbortSignal.any([machine.signal, lastResort.signal])
  const daemon = await startDaemon({ config, clock, random, log, rehearse: rehearseInWorker(config.databaseUrl) })
  letHeapGrow()
  await new Promise<void>((ended) => {
    signal.addEventListener('abort', () => ended())
    if (signal.aborted) ended()
  })
  log.info('shutting down: finishing requests')
  await daemon.close()
  log.info('stopped')
  lastResort.remove()
  return lastResort.signal.aborted ? 1 : 0
}
