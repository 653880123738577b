import { rm } from 'node:fs/promises'
import { type LogLine, Service } from '../../core/boxes/index.ts'
import { asJson } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { logLines, logRedactor } from '../boxes/index.ts'
import type { ChangeRun } from './run.types.ts'

// A rollback replaces the containers that failed, and their logs with them. So the last lines are kept when a step fails.

type Failed = Pick<ChangeRun, 'box' | 'deps' | 'dumpFolder'>

const linesOfService = 200
/** Upper bound for all services together, because the result of a command and a row of the daemon hold them. */
const maxChars = 60_000

const fileOf = ({ dumpFolder }: Pick<Failed, 'dumpFolder'>): string => `${dumpFolder}.logs`

/** Keeps the last lines of the services that failed, of the first failure alone. Best effort: the rollback never waits for it. */
export async function keepFailureLogs(run: Failed, suspects: readonly Service[]): Promise<void> {
  if ((await readIfThere(fileOf(run))) !== undefined) return
  const lines = await linesOf(run, suspects)
  if (lines.length > 0) await writeFileAtomic(fileOf(run), JSON.stringify(lines))
}

/** The lines that were kept; undefined where no step failed. */
export async function failureLogs(run: Failed): Promise<LogLine[] | undefined> {
  const kept = asJson((await readIfThere(fileOf(run))) ?? '')
  return Array.isArray(kept) ? (kept as LogLine[]) : undefined
}

export const removeFailureLogs = (run: Failed): Promise<void> => rm(fileOf(run), { force: true })

async function linesOf({ box, deps: { engine } }: Failed, suspects: readonly Service[]): Promise<LogLine[]> {
  const containers = await engine.containers(box.project)
  const failed = Service.options.filter((service) =>
    containers.some((container) => container.service === service && (container.state !== 'running' || container.restartCount > 0)),
  )
  const services = failed.length > 0 ? failed : suspects
  const found = await Promise.all(services.map((service) => logLines(engine, box, { services: [service], lines: linesOfService })))
  const redact = await logRedactor(box)
  return newest(found.map((lines) => lines.map(redact)))
}

/** As many of the last lines as fit, the same number of characters for each service. */
function newest(services: readonly (readonly LogLine[])[]): LogLine[] {
  const most = maxChars / Math.max(1, services.length)
  return services.flatMap((lines) => {
    let chars = 0
    const first = lines.findLastIndex(({ text }) => {
      chars += text.length
      return chars > most
    })
    return lines.slice(first + 1)
  })
}
