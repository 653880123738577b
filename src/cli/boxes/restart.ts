import type { CommandView } from '../../core/hosts/index.ts'
import { duration } from '../../core/kit/index.ts'
import { assertConfirmedOf, command, flag, required, type Style, sections, text } from '../kit/index.ts'
import { awaitWithProgress } from './await-command.ts'
import { probeView } from './check.ts'
import { followLine } from './follow.ts'
import { serviceOption, servicesOf } from './services.ts'
import { getBox } from './show.ts'

type Restarted = CommandView | Readonly<{ commandId: string }>

export const restart = command('restart <slug>', 'Restart the containers of a box and check its health', {
  options: {
    service: serviceOption,
    reason: required(text('--reason <text>', 'reason for the audit log')),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { slug, service, reason, wait }): Promise<Restarted> => {
    const services = servicesOf(service)
    const what = services ? `${services.join(', ')} of ${slug}` : slug
    const question = `Restart ${what}? Its users are disconnected until its servers answer again.`
    await assertConfirmedOf(context, question, () => getBox(context, slug))
    const accepted = await context.api.boxes.restartBox({ params: { slug }, body: { reason, ...(services ? { services } : {}) } })
    return wait ? awaitWithProgress(context, accepted.commandId, `${slug}: restarting`) : accepted
  },
  view: restartView,
  examples: ["restart anna-schule --service synapse --reason 'memory of the chat server'"],
})

function restartView(restarted: Restarted, style: Style, { slug }: { slug: string }): string {
  if (!('result' in restarted)) return `Restart requested. Follow it: ${followLine(slug, restarted.commandId)}`
  const { durationMs } = (restarted.result ?? {}) as { durationMs?: number }
  return sections(
    `${slug} was restarted${durationMs === undefined ? '' : ` in ${duration(durationMs)}`}.`,
    probeView(restarted, style, { slug }),
  )
}
