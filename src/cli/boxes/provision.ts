import type { BoxCommandResult, BoxDetail } from '../../core/boxes/index.ts'
import { printable, problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, command, flag, oneOf, required, text } from '../kit/index.ts'

import { awaitCommand, awaitWithProgress } from './await-command.ts'
import { boxView } from './boxes.view.ts'
import { getBox } from './show.ts'

export const provision = command(
  'provision <slug>',
  'Make a box on a host, and wait until it has proven healthy',
  {
    host: required(text('--host <name>', 'the host that carries it')),
    name: required(text('--name <name>', 'name of the tenant')),
    plan: required(oneOf('--plan <plan>', 'decides the tier', ['light', 'pro', 'dedicated'])),
    domain: required(text('--domain <domain>', 'its chat server name, such as chat.school.example')),
    publicUrl: text('--public-url <url>', 'where clients reach it (default: https:// and the chat domain)'),
    canary: flag('--canary', 'a rollout tries it first'),
    synapse: text('--synapse <version>', "instead of the manifest's"),
    postgres: text('--postgres <version>', "instead of the manifest's"),
    minio: text('--minio <version>', "instead of the manifest's"),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  async (context, { wait, domain, synapse, postgres, minio, ...box }) => {
    const chosen = Object.entries({ synapse, postgres, minio }).filter(([, version]) => version !== undefined)
    const versions = chosen.length > 0 ? { versions: Object.fromEntries(chosen) } : {}
    return awaitSetUp(context, await context.api.boxes.provisionBox({ body: { ...box, chatDomain: domain, ...versions } }), wait)
  },
  boxView,
  { examples: ["provision anna-schule --host host-1 --name 'Anna-Schule' --plan light --domain chat.anna-schule.example"] },
)

type Accepted = Readonly<{ box: BoxDetail; commandId: string }>

/** Waits for the agent to have set a box up, and answers the box as it then is; without waiting, as it was accepted. */
async function awaitSetUp(context: Context, { box, commandId }: Accepted, wait: boolean): Promise<BoxDetail> {
  // One that was ready before was set up by a command that may be forgotten by now.
  if (!wait || box.status === 'ready') return box
  const { slug } = box
  const progress = await context.progress(`${slug}: handed to the agent of ${box.host}`)
  try {
    await awaitCommand(context, commandId, (line) => progress.update(`${slug}: ${line}`))
  } catch (error) {
    progress.fail(`${slug}: not set up`)
    throw error
  }
  progress.done(`${slug}: set up`)
  return getBox(context, slug)
}

const needed = { host: '--host', folder: '--folder', project: '--project', name: '--name', plan: '--plan', domain: '--domain' } as const

export const adopt = command(
  'adopt <slug>',
  'Register a stack that somebody set up by hand, nothing in it is changed; or complete one, so that it is managed',
  {
    host: text('--host <name>', 'the host it runs on'),
    folder: text('--folder <path>', 'the folder of its compose file on that host'),
    project: text('--project <name>', 'the name of its compose project'),
    name: text('--name <name>', 'name of the tenant'),
    plan: oneOf('--plan <plan>', 'decides the tier', ['light', 'pro', 'dedicated']),
    domain: text('--domain <domain>', 'its chat server name'),
    publicUrl: text('--public-url <url>', 'where clients reach it (default: https:// and the chat domain)'),
    complete: flag('--complete', 'add what an adopted box lacks, after showing it; without the other options'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  async (context, { wait, complete, slug, publicUrl, ...given }) => {
    if (complete) return completeAdoption(context, slug)
    const { host, folder, project, name, plan, domain: chatDomain } = given
    if (!host || !folder || !project || !name || !plan || !chatDomain) throw missing(given)
    const body = { slug, host, folder, project, name, plan, chatDomain, ...(publicUrl === undefined ? {} : { publicUrl }) }
    return awaitSetUp(context, await context.api.boxes.adoptBox({ body }), wait)
  },
  boxView,
  { examples: ['adopt anna-schule --complete'] },
)

const missing = (given: Readonly<Record<string, unknown>>) => {
  const flags = Object.entries(needed).filter(([name]) => !given[name])
  return problem(
    'USAGE',
    `to adopt a stack, ${flags.map(([, option]) => option).join(', ')} must be given; to complete a box that was adopted, --complete alone`,
  )
}

type Completion = BoxCommandResult<'tenant-box.complete'>

/** Shows what an observed box lacks, asks, and has exactly that done. Answers the box as it then is. */
async function completeAdoption(context: Context, slug: string): Promise<BoxDetail> {
  const shown = await asked(context, slug, null)
  if (shown.diff === '' && shown.findings.length > 0) throw notPossible(slug, shown.findings)
  context.stderr.write(`${shown.diff.split('\n').map(printable).join('\n').trimEnd()}\n`)
  for (const finding of shown.findings) context.notify(`  ${printable(finding)}`)
  await assertConfirmed(context.ask, `Change ${slug} like this? Its services are started again where that is needed.`)
  const done = await asked(context, slug, shown.diffSha256)
  if (!done.applied)
    throw problem(
      'CONFLICT',
      `${slug} is not as it was when the diff was made, so nothing was changed: look at the diff again (tenantry boxes adopt ${slug} --complete)`,
    )
  if (done.findings.length > 0) throw notPossible(slug, done.findings)
  return getBox(context, slug)
}

const notPossible = (slug: string, findings: readonly string[]) =>
  problem('BOX_NOT_MANAGED', `${slug} still cannot be managed: ${findings.map(printable).join('; ')}`)

async function asked(context: Context, slug: string, expected: string | null): Promise<Completion> {
  const { commandId } = await context.api.boxes.completeBox({ params: { slug }, body: { expected } })
  const { result } = await awaitWithProgress(
    context,
    commandId,
    `${slug}: ${expected === null ? 'looking at what it lacks' : 'completing it'}`,
  )
  return result as Completion
}
