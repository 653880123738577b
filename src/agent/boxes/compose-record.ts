import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { BoxCommandKind } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import type { CommandContext, CommandExecutors, LocalBox } from '../ports/index.ts'
import { checkedSlug } from './local-boxes.ts'

const Written = z.object({
  /** Checksum of the file as the last command left it; null before the first command. */
  sha256: z.string().nullable(),
  /** The running command that may write the file, and the checksum before it. */
  during: z.object({ commandId: z.string(), before: z.string().nullable() }).nullable(),
})
type Written = z.infer<typeof Written>

/**
 * Records the checksum of each compose file written by the agent, to detect manual changes. A file that a command left unchanged is not
 * recorded. After a kill, the resumed command completes the record.
 */
export type ComposeRecord = Readonly<{
  /** Wraps a command that may write the file; idempotent for a resumed command. */
  around<Result>(slug: string, commandId: string, work: () => Promise<Result>): Promise<Result>
  /** Null when no command wrote the file yet, or one is running. */
  isChanged(box: LocalBox, text: string): Promise<boolean | null>
}>

type Deps = Readonly<{ stateFolder: string; boxes: Readonly<{ find(slug: string): Promise<LocalBox | undefined> }> }>

export function composeRecord({ stateFolder, boxes }: Deps): ComposeRecord {
  const fileOf = (slug: string) => join(stateFolder, 'compose', `${checkedSlug(slug)}.json`)
  const read = async (slug: string): Promise<Written> => parse(await readIfThere(fileOf(slug)))
  const write = (slug: string, written: Written) => writeFileAtomic(fileOf(slug), `${JSON.stringify(written)}\n`)
  const sumNow = async (slug: string) => {
    const box = await boxes.find(slug)
    return box ? readFile(box.project.composeFile, 'utf8').then(sha256Hex, () => null) : null
  }
  const begin = async (slug: string, commandId: string) => {
    const known = await read(slug)
    if (known.during?.commandId !== commandId) await write(slug, { ...known, during: { commandId, before: await sumNow(slug) } })
  }
  const end = async (slug: string) => {
    if (!(await boxes.find(slug))) return rm(fileOf(slug), { force: true })
    const { sha256, during } = await read(slug)
    const now = await sumNow(slug)
    await write(slug, { sha256: during && now !== during.before ? now : sha256, during: null })
  }
  return {
    around: async (slug, commandId, work) => {
      await begin(slug, commandId)
      try {
        return await work()
      } finally {
        // A failed record must not change the outcome of the command.
        await end(slug).catch(() => undefined)
      }
    },
    isChanged: async ({ slug }, text) => {
      const { sha256, during } = await read(slug)
      return sha256 === null || during ? null : sha256 !== sha256Hex(text)
    },
  }
}

function parse(text: string | undefined): Written {
  try {
    return Written.parse(JSON.parse(text ?? ''))
  } catch {
    return { sha256: null, during: null }
  }
}

/** Commands that may write the compose file of a box. */
const writing: ReadonlySet<BoxCommandKind> = new Set([
  'tenant-box.provision',
  'tenant-box.import',
  'tenant-box.update',
  'tenant-box.restore',
  'tenant-box.take_over',
  'tenant-box.take_back',
])

type AnyExecutor = (context: CommandContext, payload: { slug: string }) => Promise<unknown>

/** Wraps the executors so that the compose files they write are recorded as the agent's own. */
export function recordCompose(compose: ComposeRecord, executors: CommandExecutors): CommandExecutors {
  const recorded = Object.entries(executors).map(([kind, execute]) => {
    if (!writing.has(kind as BoxCommandKind)) return [kind, execute]
    const work: AnyExecutor = (context, payload) =>
      compose.around(payload.slug, context.commandId, () => (execute as AnyExecutor)(context, payload))
    return [kind, work]
  })
  return Object.fromEntries(recorded) as CommandExecutors
}
