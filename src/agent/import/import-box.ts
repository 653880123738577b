import { readdir } from 'node:fs/promises'
import {
  type BoxCommandResult,
  boxCommands,
  type ImportStep,
  type ImportWorld,
  importSaga,
  notForeign,
  type ProbeResult,
} from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  assertPlaceFree,
  assertStackUnclaimed,
  boxOfCommand,
  boxOfStartedCommand,
  plainUrl,
  projectOf,
  readBoxSecrets,
  reportVersions,
} from '../boxes/index.ts'
import type { CommandRecord, JournalEntry } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, ForeignStack } from '../ports/index.ts'
import { type EndedCommand, type EndedSaga, resultOrThrow, runBoxSaga } from '../saga/index.ts'
import { endBackup } from './hot-copy.ts'
import { type ImportDeps, type ImportPayload, type ImportRun, startImport } from './import-run.ts'
import { factsOf, importActs } from './import-steps.ts'
import { isQuiet } from './switch-stack.ts'

const kind = 'tenant-box.import'
type Result = BoxCommandResult<typeof kind>

/** Makes a box of the data of a foreign stack and switches over. Any failure before the box is recorded returns to the stack. */
export const importBox =
  (deps: ImportDeps): CommandExecutor<typeof kind> =>
  async (context, input) => {
    const payload = boxCommands[kind].payload.parse(input)
    const command = { commandId: context.commandId, kind, slug: payload.slug, payload }
    return resultOrThrow(
      await deps.once<EndedCommand<Result>>(command, {
        admit: () => admit(deps, payload),
        perform: (record) => perform(deps, context, { payload, record }),
      }),
    )
  }

async function admit(deps: ImportDeps, payload: ImportPayload): Promise<void> {
  const box = await boxOfCommand(deps.boxes, payload)
  await assertStackUnclaimed(deps.boxes, box)
  plainUrl(payload.publicUrl)
  const project = projectOf(deps.settings, payload.slug)
  const { name, folder } = box.project
  if (name === project.name || folder === project.folder) throw problem('ALREADY_EXISTS', notForeign(payload.slug))
  // Left by an import of the same box that was undone.
  const isOwn = (await readBoxSecrets(project).catch(() => undefined))?.boxId === payload.boxId
  const isEmpty = (await readdir(project.folder).catch(() => [])).length === 0
  const exists = (await deps.engine.projects(project.name)).includes(project.name)
  if (!isOwn && (!isEmpty || exists))
    throw problem('ALREADY_EXISTS', `${project.folder} or the project ${project.name} exists on this host. fix: move or remove it first`)
  await assertPlaceFree(deps, payload, project)
}

async function perform(
  deps: ImportDeps,
  context: CommandContext,
  { payload, record }: Readonly<{ payload: ImportPayload; record: CommandRecord }>,
): Promise<EndedCommand<Result>> {
  const run = startImport(deps, context, { payload, recorded: await boxOfStartedCommand(deps.boxes, payload) })
  const ended = await runBoxSaga(deps, {
    ...{ context, record, saga: importSaga, acts: importActs(run), deadlineMs: payload.deadlineMs },
    observe: async ({ resultOf, facts }): Promise<ImportWorld> => {
      const stack = resultOf('survey') as ForeignStack | undefined
      return { quiet: stack === undefined || !facts().begun.has('fence') || (await isQuiet(deps, stack)) }
    },
  }).finally(() => endBackup(run))
  return ended.outcome === 'committed' || ended.outcome === 'unfinished' ? succeeded(run, ended) : failed(run, ended)
}

async function succeeded({ deps, box }: ImportRun, ended: EndedSaga<ImportStep>): Promise<EndedCommand<Result>> {
  const { entries, resultOf } = ended
  const report = await reportVersions(deps, (await deps.boxes.find(box.slug)) ?? box)
  return { result: { report, probe: resultOf('probe') as ProbeResult, facts: factsOf(ended, downtimeOf(entries)) } }
}

/** From the first stop to the opening. */
function downtimeOf(entries: readonly JournalEntry[]): number {
  const from = entries.find(({ step, mark }) => step === 'fence' && mark === 'intent')?.elapsedMs ?? 0
  const until = entries.findLast(({ step, mark }) => step === 'open' && mark === 'done')?.elapsedMs ?? from
  return Math.max(0, until - from)
}

function failed({ observed }: ImportRun, { outcome, facts }: Pick<EndedSaga<ImportStep>, 'outcome' | 'facts'>): EndedCommand<Result> {
  const why = facts.failure ?? { code: 'INTERNAL', message: 'The import failed' }
  if (!facts.begun.has('fence') && outcome === 'rolled_back')
    return { failure: { ...why, message: `${why.message}. The stack was not changed.` } }
  if (outcome === 'rolled_back') return { failure: { ...why, message: `${why.message}. The stack runs again as before.` } }
  const { message = 'no reason given' } = facts.endError ?? {}
  if (facts.done.has('return'))
    return {
      failure: { ...why, message: `${why.message}. The stack runs again as before; not all of the box could be removed: ${message}` },
    }
  return {
    failure: {
      code: 'RESTORE_FAILED',
      message: `The return to the stack ${observed.project.name} failed: ${message}. Cause of the return: ${why.message}. fix: docker compose -p ${observed.project.name} start`,
    },
  }
}
