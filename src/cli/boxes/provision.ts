import { command, flag, oneOf, required, text } from '../kit/index.ts'
import { boxView } from './boxes.view.ts'
import { afterSetUp } from './set-up.ts'

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
    return afterSetUp(context, await context.api.boxes.provisionBox({ body: { ...box, chatDomain: domain, ...versions } }), wait)
  },
  boxView,
  { examples: ["provision anna-schule --host host-1 --name 'Anna-Schule' --plan light --domain chat.anna-schule.example"] },
)
