import { command, flag, oneOf, required, text } from '../kit/index.ts'
import { boxView } from './boxes.view.ts'
import { afterSetUp } from './set-up.ts'

export const adopt = command(
  'adopt <slug>',
  'Register a stack that somebody set up by hand; nothing in it is changed',
  {
    host: required(text('--host <name>', 'the host it runs on')),
    folder: required(text('--folder <path>', 'the folder of its compose file on that host')),
    project: required(text('--project <name>', 'the name of its compose project')),
    name: required(text('--name <name>', 'name of the tenant')),
    plan: required(oneOf('--plan <plan>', 'decides the tier', ['light', 'pro', 'dedicated'])),
    domain: required(text('--domain <domain>', 'its chat server name')),
    publicUrl: text('--public-url <url>', 'where clients reach it (default: https:// and the chat domain)'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  async (context, { wait, domain, ...box }) =>
    afterSetUp(context, await context.api.boxes.adoptBox({ body: { ...box, chatDomain: domain } }), wait),
  boxView,
)
