import type { BoxDetail } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command, flag, oneOf, required, text } from '../kit/index.ts'

import { awaitCommand, awaitWithProgress } from './await-command.ts'
import { boxView } from './boxes.view.ts'
import { getBox } from './show.ts'

export const provision = command('provision <slug>', 'Provision a box on a host', {
  options: {
    host: required(text('--host <name>', 'target host')),
    name: required(text('--name <name>', 'name of the tenant')),
    plan: required(oneOf('--plan <plan>', 'decides the tier', ['light', 'pro', 'dedicated'])),
    domain: required(text('--domain <domain>', 'chat domain, such as chat.school.example')),
    publicUrl: text('--public-url <url>', 'URL for clients (default: https:// and the chat domain)'),
    canary: flag('--canary', 'update it first in rollouts'),
    synapse: text('--synapse <version>', "override the manifest's version"),
    postgres: text('--postgres <version>', "override the manifest's version"),
    minio: text('--minio <version>', "override the manifest's version"),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { wait, domain, synapse, postgres, minio, ...box }) => {
    const chosen = Object.entries({ synapse, postgres, minio }).filter(([, version]) => version !== undefined)
    const versions = chosen.length > 0 ? { versions: Object.fromEntries(chosen) } : {}
    return awaitSetUp(context, await context.api.boxes.provisionBox({ body: { ...box, chatDomain: domain, ...versions } }), wait)
  },
  view: boxView,
  examples: ["provision anna-schule --host host-1 --name 'Anna-Schule' --plan light --domain chat.anna-schule.example"],
})

type Accepted = Readonly<{ box: BoxDetail; commandId: string }>

/** Waits until the agent has set up a box, and returns the box; without `wait` the accepted one. */
async function awaitSetUp(context: Context, { box, commandId }: Accepted, wait: boolean): Promise<BoxDetail> {
  // The set-up command of a ready box may be deleted already.
  if (!wait || box.status === 'ready' || box.status === 'restoring') return box
  const { slug } = box
  const progress = await context.progress(`${slug}: sent to the agent of ${box.host}`)
  try {
    await awaitCommand(context, commandId, (line) => progress.update(`${slug}: ${line}`))
  } catch (error) {
    progress.fail(`${slug}: set-up failed`)
    throw error
  }
  progress.done(`${slug}: ready`)
  return getBox(context, slug)
}

const adoptFlags = { host: '--host', folder: '--folder', project: '--project', name: '--name', plan: '--plan', domain: '--domain' } as const

export const adopt = command('adopt <slug>', 'Register an existing stack as observed, or register a box again', {
  options: {
    host: text('--host <name>', 'its host'),
    folder: text('--folder <path>', 'folder of its compose file on the host'),
    project: text('--project <name>', 'its compose project'),
    name: text('--name <name>', 'name of the tenant'),
    plan: oneOf('--plan <plan>', 'decides the tier', ['light', 'pro', 'dedicated']),
    domain: text('--domain <domain>', 'chat domain'),
    publicUrl: text('--public-url <url>', 'URL for clients (default: https:// and the chat domain)'),
    again: flag('--again', 'register a box again, after its agent lost its state folder'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { wait, again, slug, publicUrl, ...input }) => {
    if (again) return adoptAgain(context, slug, wait)
    const { host, folder, project, name, plan, domain: chatDomain } = input
    if (!host || !folder || !project || !name || !plan || !chatDomain) throw missing(input)
    const body = { slug, host, folder, project, name, plan, chatDomain, ...(publicUrl === undefined ? {} : { publicUrl }) }
    return awaitSetUp(context, await context.api.boxes.adoptBox({ body }), wait)
  },
  view: boxView,
  examples: ['adopt anna-schule --again'],
})

const missing = (input: Readonly<Record<string, unknown>>) => {
  const flags = Object.entries(adoptFlags).filter(([name]) => !input[name])
  return problem('USAGE', `missing: ${flags.map(([, option]) => option).join(', ')}. fix: pass them to adopt a stack`)
}

async function adoptAgain(context: Context, slug: string, wait: boolean): Promise<BoxDetail> {
  const { commandId } = await context.api.boxes.adoptAgain({ params: { slug }, body: {} })
  if (wait) await awaitWithProgress(context, commandId, `${slug}: registering it again`)
  return getBox(context, slug)
}
