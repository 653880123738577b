import type { ProbeResult } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { clean, command, flag, type Style, sections, table } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'

type Checked = CommandView | Readonly<{ commandId: string }>

const probeOf = (checked: Checked): ProbeResult | undefined =>
  'result' in checked ? (checked.result as { probe?: ProbeResult } | null)?.probe : undefined

export const check = command(
  'check <slug>',
  'Probe a box once: chat API, chat sync, database, object storage',
  { wait: flag('--no-wait', 'do not wait for the agent') },
  async (context, { slug, wait }): Promise<Checked> => {
    const accepted = await context.api.boxes.checkBox({ params: { slug } })
    if (!wait) return accepted
    const progress = await context.progress(`${slug}: probing`)
    try {
      return await awaitAnswer(context, accepted.commandId, slug, (line) => progress.update(`${slug}: ${line}`))
    } finally {
      progress.stop()
    }
  },
  probeView,
  { exit: (checked) => (probeOf(checked)?.verdict === 'failed' ? 1 : 0) },
)

/** `objectStorage` on the wire, `object storage` for people. */
const spoken = (component: string) => component.replace(/(Api|[A-Z])/g, (part) => ` ${part === 'Api' ? 'API' : part.toLowerCase()}`)

function probeView(checked: Checked, style: Style, { slug }: { slug: string }): string {
  const probe = probeOf(checked)
  if (!probe) return 'commandId' in checked ? `The agent was asked. Its answer: tenantry boxes show ${slug}` : 'The agent sent no probe.'
  const { paint } = style
  const verdict = probe.verdict === 'ok' ? paint.green('ok') : paint.red(probe.verdict)
  return sections(
    `${slug} is ${verdict}${probe.reason ? `: ${clean(probe.reason)}` : ''}`,
    table(
      style,
      [
        { title: 'COMPONENT', value: ([name]) => spoken(name), priority: 1 },
        { title: 'STATE', value: ([, { ok }]) => (ok ? 'ok' : 'failed'), priority: 1, paint: ([, { ok }]) => (ok ? 'green' : 'red') },
        { title: 'MS', value: ([, { ms }]) => Math.round(ms), priority: 1, align: 'right' },
        { title: 'ERROR', value: ([, { error }]) => error, priority: 2, minWidth: 20 },
      ],
      Object.entries(probe.components),
    ),
  )
}
