import { type BoxImport, type ImportPlan, lifecycleQuestions, writtenText } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, clean, command, flag, many, type Style, text } from '../kit/index.ts'
import { awaitAnswer, followCommands } from './await-command.ts'
import { finishView, type ImportedState, importPlanView, importView } from './import.view.ts'
import { getBox } from './show.ts'

type Shown = ImportPlan | ImportedState | BoxImport

export const importBox = command('import <slug>', 'Import an adopted stack into a box', {
  options: {
    plan: flag('--plan', 'show what was found and what blocks the import (read-only)'),
    drop: many('--drop <name>', 'accept that the box lacks this, as the plan names it; comma-separated'),
    reason: text('--reason <text>', 'reason, for the audit log'),
    undo: flag('--undo', 'stop the box and start its former stack again'),
    finish: flag('--finish', 'show what ending the return path removes; with --yes, remove it'),
    volumes: flag('--volumes', 'with --finish: remove the volumes of the former stack too'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { slug, wait, ...flags }): Promise<Shown> => {
    const begun = await begin(context, slug, flags)
    if (!('importId' in begun) || !wait) return begun
    return followCommands(context, slug, { begun, again: () => latest(context, slug, begun) })
  },
  view: (shown, style, { slug }) => viewOf(shown, style, slug),
  exit: (shown, { undo, wait }) => exitOf(shown, { undo, wait }),
  examples: [
    'import anna-schule --plan --drop mail,federation',
    'import anna-schule --drop mail,federation --reason "one of ours"',
    'import anna-schule --undo --reason "a bridge is missing"',
  ],
})

function viewOf(shown: Shown, style: Style, slug: string): string {
  if ('importId' in shown) return importView(shown, style, { slug })
  return 'ready' in shown ? importPlanView(shown, style, { slug }) : finishView(shown, style, { slug })
}

function exitOf(shown: Shown, { undo, wait }: Readonly<{ undo: boolean; wait: boolean }>): 0 | 1 | 7 {
  if ('ready' in shown) return shown.ready ? 0 : 7
  if (!('importId' in shown) || !wait) return 0
  const isGood = undo ? shown.state === 'undone' : shown.state === 'imported' || shown.state === 'finished'
  return isGood && shown.error === null ? 0 : 1
}

type Flags = Readonly<{
  plan: boolean
  drop: readonly string[] | undefined
  reason: string | undefined
  undo: boolean
  finish: boolean
  volumes: boolean
}>

async function begin(context: Context, slug: string, { plan, drop, undo, finish, volumes, reason }: Flags): Promise<Shown> {
  if (undo) return undoIt(context, slug, needed(reason))
  if (finish) return context.yes ? finishIt(context, slug, { volumes, reason: needed(reason) }) : stateOf(context, slug)
  if (volumes) throw problem('USAGE', '--volumes belongs to --finish. fix: pass --finish')
  const stated = plan ? '' : needed(reason)
  const planned = await planOf(context, slug, [...(drop ?? [])])
  if (plan || !planned.ready) return planned
  for (const warning of planned.warnings) context.notify(clean(warning))
  await assertConfirmed(context.ask, lifecycleQuestions.importBox(slug, planned.downtimeMs))
  return context.api.boxes.importBox({ params: { slug }, body: { drop: [...(drop ?? [])], reason: stated } })
}

function needed(reason: string | undefined): string {
  if (reason) return reason
  throw problem('USAGE', 'a reason is required. fix: --reason <text>')
}

async function planOf(context: Context, slug: string, drop: string[]): Promise<ImportPlan> {
  const { commandId } = await context.api.boxes.planImport({ params: { slug }, body: { drop } })
  return ((await answered(context, slug, commandId)) as { plan: ImportPlan }).plan
}

async function stateOf(context: Context, slug: string): Promise<ImportedState> {
  const { commandId } = await context.api.boxes.readImport({ params: { slug } })
  return (await answered(context, slug, commandId)) as ImportedState
}

async function answered(context: Context, slug: string, id: string): Promise<unknown> {
  const progress = await context.progress(`${slug}: reading the stack`)
  try {
    return (await awaitAnswer(context, { id, slug }, (line) => progress.update(`${slug}: ${line}`))).result
  } finally {
    progress.stop()
  }
}

async function undoIt(context: Context, slug: string, reason: string): Promise<BoxImport> {
  const { written, stack } = await stateOf(context, slug)
  context.notify(`Written in ${slug} since the import, and not in the stack ${clean(stack.project)}: ${writtenText(written)}`)
  await assertConfirmed(context.ask, lifecycleQuestions.undoImport(slug, clean(stack.project)))
  return context.api.boxes.undoImport({ params: { slug }, body: { reason } })
}

const finishIt = (context: Context, slug: string, body: Readonly<{ reason: string; volumes: boolean }>): Promise<BoxImport> =>
  context.api.boxes.finishImport({ params: { slug }, body })

async function latest(context: Context, slug: string, begun: BoxImport): Promise<BoxImport> {
  const { import: now } = await getBox(context, slug)
  return now?.importId === begun.importId ? now : begun
}
