import type { BoxDetail } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type Context, clean, command, text, withAddress } from '../kit/index.ts'
import { awaitCommand } from './await-command.ts'
import { getBox } from './show.ts'

/** A command that was followed to its end; `outcome` as its agent reported it. */
type Followed = Readonly<{ commandId: string; kind: string; status: 'succeeded' | 'failed'; outcome: string | null; error: string | null }>
type Result = Readonly<{ slug: string; commands: readonly Followed[] }>

export const follow = command('follow <slug>', 'Follow the running operations of a box to their end', {
  options: { command: text('--command <id>', 'begin with this command, also where it has ended') },
  run: async (context, { slug, command }): Promise<Result> => {
    const commands: Followed[] = command === undefined ? [] : [await followOne(context, slug, await commandOf(context, slug, command))]
    for (;;) {
      const next = await nextCommand(context, slug, new Set(commands.map(({ commandId }) => commandId)))
      if (!next) return { slug, commands }
      commands.push(await followOne(context, slug, next))
    }
  },
  view: ({ slug, commands }) => (commands.length === 0 ? `Nothing runs on ${slug}. Its state: tenantry boxes show ${slug}` : ''),
  exit: ({ commands }) => (commands.some(hasFailed) ? 1 : 0),
  examples: ['follow anna-schule', 'follow anna-schule --command cmd_8x2m4k7p9q3r5t6v1w0y'],
})

type Open = Pick<BoxDetail['openCommands'][number], 'commandId' | 'kind'>

/** Throws NOT_FOUND for a command of another box. */
async function commandOf(context: Context, slug: string, id: string): Promise<Open> {
  const { kind, boxId } = await context.api.hosts.showCommand({ params: { id }, query: { waitMs: 0 } })
  if (boxId !== (await getBox(context, slug)).boxId) throw problem('NOT_FOUND', `Command ${clean(id)} is not of ${slug}.`)
  return { commandId: id, kind }
}

/** For a command that was just requested: it may have ended before it is followed. */
export const followLine = (slug: string, commandId: string): string => `tenantry boxes follow ${slug} --command ${commandId}`

/** A move or a rollout enqueues its next command a moment after the last one ended. */
const [attempts, everyMs] = [5, 1000]

/** The oldest command that runs or waits and was not followed yet. While the box is on hold, the next one is awaited for some seconds. */
async function nextCommand(context: Context, slug: string, followed: ReadonlySet<string>): Promise<Open | undefined> {
  for (let attempt = 1; ; attempt++) {
    const { openCommands, heldBy, maintenance } = await getBox(context, slug)
    const [next] = openCommands.filter(({ commandId, status }) => status !== 'expired' && !followed.has(commandId))
    if (next || heldBy === null || maintenance !== null || attempt === attempts) return next
    await context.clock.sleep(everyMs, context.signal)
    context.signal.throwIfAborted()
  }
}

async function followOne(context: Context, slug: string, { commandId, kind: wireKind }: Open): Promise<Followed> {
  const kind = clean(wireKind.replace(/^tenant-box\./, '').replaceAll('_', ' '))
  const output = context.json ? context.stderr : context.stdout
  const { repeatedUrl } = context.style()
  const print = (line: string) => output.write(`${slug}  ${kind}: ${withAddress(line, repeatedUrl)}\n`)
  try {
    const { result } = await awaitCommand(context, commandId, print)
    const outcome = outcomeOf(result)
    print(outcome?.replaceAll('_', ' ') ?? 'succeeded')
    return { commandId, kind, status: 'succeeded', outcome, error: null }
  } catch (error) {
    if (!isProblem(error) || isOfConnection.has(error.code) || context.signal.aborted) throw error
    print(`failed: ${clean(error.message)} [${error.code}]`)
    return { commandId, kind, status: 'failed', outcome: null, error: error.code }
  }
}

/** Problems of the question itself, not of the command. */
const isOfConnection: ReadonlySet<string> = new Set(['UNREACHABLE', 'UNAVAILABLE', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'])

/** Updates, restores and their like report how they ended. */
function outcomeOf(result: unknown): string | null {
  const { outcome } = (result ?? {}) as { outcome?: unknown }
  return typeof outcome === 'string' ? clean(outcome) : null
}

const good: readonly string[] = ['committed', 'restored']
const hasFailed = ({ status, outcome }: Followed): boolean => status === 'failed' || (outcome !== null && !good.includes(outcome))
