import { type BoxCommandResult, Service, type UndoImportStep, undoImportSaga, type WrittenSince } from '../../core/boxes/index.ts'
import { isoNow, problem } from '../../core/kit/index.ts'
import {
  boxOfCommand,
  boxOfStartedCommand,
  createFenceFile,
  readFence,
  removeFenceFile,
  reportVersions,
  waitForService,
} from '../boxes/index.ts'
import type { CommandRecord } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, ImportedFrom, LocalBox } from '../ports/index.ts'
import { startProject } from '../rebuild/index.ts'
import { type EndedCommand, resultOrThrow, runBoxSaga, type SagaActs } from '../saga/index.ts'
import type { ImportDeps } from './import-run.ts'
import { haltStack, startStack } from './switch-stack.ts'

const kind = 'tenant-box.undo_import'
type Result = BoxCommandResult<typeof kind>

/** Stops the box and starts its foreign stack as it was. Where the stack does not answer, the box runs again. */
export const undoImport =
  (deps: ImportDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const command = { commandId: context.commandId, kind, slug: payload.slug, payload }
    return resultOrThrow(
      await deps.once<EndedCommand<Result>>(command, {
        admit: async () => void importOf(await boxOfCommand(deps.boxes, payload)),
        perform: async (record) => perform(deps, context, { record, box: await boxOfStartedCommand(deps.boxes, payload) }),
      }),
    )
  }

/** Throws CONFLICT for a box that was not imported here, or whose import is finished. */
export function importOf({ slug, imported }: LocalBox): ImportedFrom {
  if (imported) return imported
  throw problem('CONFLICT', `Box ${slug} has no foreign stack to return to: it was not imported on this host, or the import is finished`)
}

type Undoing = Readonly<{ record: CommandRecord; box: LocalBox }>

async function perform(deps: ImportDeps, context: CommandContext, { record, box: recorded }: Undoing): Promise<EndedCommand<Result>> {
  // A resumed undo may have stored the record of the stack already; the journal has that of the box.
  const box = (record.entries.find(({ step, mark }) => step === 'close' && mark === 'note')?.data as LocalBox | undefined) ?? recorded
  const acts = undoActs(deps, context, box)
  const { outcome, facts, resultOf } = await runBoxSaga(deps, { context, record, saga: undoImportSaga, acts, deadlineMs: null })
  if (outcome === 'committed' || outcome === 'unfinished') {
    const report = await reportVersions(deps, (await deps.boxes.find(box.slug)) ?? box)
    return { result: { report, written: resultOf('close') as WrittenSince } }
  }
  const why = facts.failure ?? { code: 'INTERNAL', message: 'The undo failed' }
  if (outcome === 'rolled_back') return { failure: { ...why, message: `${why.message}. ${box.slug} runs as before.` } }
  const message = `${why.message}; ${box.slug} could not be started again: ${facts.endError?.message ?? 'no reason given'}`
  return { failure: { code: 'RESTORE_FAILED', message: `${message}. fix: tenantry-agent box unfence ${box.slug}` } }
}

function undoActs(deps: ImportDeps, context: CommandContext, box: LocalBox): SagaActs<UndoImportStep> {
  const { engine, servers, boxes } = deps
  const { imported: _, ...owned } = box
  const { stack, observed } = importOf(box)
  return {
    close: async ({ signal, note }) => {
      await note(box)
      if (!(await createFenceFile(box.project, { commandId: context.commandId, raisedAt: isoNow(deps.clock) }))) {
        const fence = await readFence(box.project)
        if (fence?.holder !== context.commandId) throw problem('BOX_HELD', `Box ${box.slug} is fenced by ${fence?.holder ?? 'unknown'}`)
      }
      return writtenSince(deps, box, signal)
    },
    stop: () => engine.stop(box.project, Service.options),
    start: ({ signal }) => startStack(deps, stack, signal),
    prove: async ({ signal }) => {
      const { evidence } = await deps.foreign.survey({ ...owned, ...observed }, signal)
      if ('failure' in evidence.chat) throw problem('BOX_UNHEALTHY', evidence.chat.failure)
      if (!evidence.chat.clientApiAnswers) throw problem('BOX_UNHEALTHY', `The chat server in ${evidence.chat.container} does not answer`)
    },
    keep: () => boxes.put({ ...owned, ...observed, migrationsHead: '0000' }),
    // Its volumes stay: what was written in the box is in them alone.
    discard: () => engine.discard(box.project, Service.options),
    halt: () => haltStack(deps, stack),
    restart: async ({ signal }) => {
      await startProject({ engine, signal }, box, Service.options)
      const isUp = async () => (await servers.serverVersions(box)).synapse !== undefined
      await waitForService({ ...deps, signal }, box, { service: 'synapse', isUp })
    },
    open: async () => {
      if ((await readFence(box.project))?.holder === context.commandId) await removeFenceFile(box.project)
    },
  }
}

/** Null where the box does not answer: then it is unknown. */
export async function writtenSince({ servers }: Pick<ImportDeps, 'servers'>, box: LocalBox, signal: AbortSignal): Promise<WrittenSince> {
  const { mark, at } = importOf(box)
  return servers.writtenSince(box, { mark, at }, signal).catch(() => {
    signal.throwIfAborted()
    return null
  })
}
