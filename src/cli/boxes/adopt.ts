import { problem } from '../../core/kit/index.ts'
import { command, flag, oneOf, text } from '../kit/index.ts'
import { boxView } from './boxes.view.ts'
import { completeAdoption } from './complete.ts'
import { afterSetUp } from './set-up.ts'

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
    return afterSetUp(context, await context.api.boxes.adoptBox({ body }), wait)
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
