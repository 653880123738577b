import type { ProbeResult } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { clean, command, flag, type Style, sections, table } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'

type Checked = CommandView | Readonly<{ commandId: string }>

const probeOf = (checked: Checked): ProbeResult | undefined =>
  'result' in checked ? (checked.result as { probe?: ProbeResult } | null)?.probe : undefined

export const check = command('check <slug>', 'Probe chat API, chat sync, database and object storage once', {
  options: { wait: flag('--no-wait', 'do not wait for the agent') },
  run: async (context, { slug, wait }): Promise<Checked> => {
    const accepted = await context.api.boxes.checkBox({ params: { slug } })
    if (!wait) return accepted
    const progress = await context.progress(`${slug}: probing`)
    try {
      return await awaitAnswer(context, { id: accepted.commandId, slug }, (line) => progress.update(`${slug}: ${line}`))
    } finally {
      progress.stop()
    }
  },
  view: probeView,
  exit: (checked) => (probeOf(checked)?.verdict === 'failed' ? 1 : 0),
})

/** `objectStorage` as `object storage`. */
const componentName = (component: string) => component.replace(/(Api|[A-Z])/g, (part) => ` ${part === 'Api' ? 'API' : part.toLowerCase()}`)

export function probeView(checked: Checked, style: Style, { slug }: { slug: string }): string {
  const probe = probeOf(checked)
  if (!probe) return 'commandId' in checked ? `Check started. Result: tenantry boxes show ${slug}` : 'The agent returned no probe.'
  const { paint } = style
  const verdict = probe.verdict === 'ok' ? paint.green('OK') : paint.red(probe.verdict)
  return sections(
    `${slug} is ${verdict}${probe.reason ? `: ${clean(probe.reason)}` : ''}`,
    table(
      style,
      [
        { title: 'COMPONENT', value: ([name]) => componentName(name), priority: 1 },
        { title: 'STATUS', value: ([, { ok }]) => (ok ? 'OK' : 'failed'), priority: 1, paint: ([, { ok }]) => (ok ? 'green' : 'red') },
        { title: 'MS', value: ([, { ms }]) => Math.round(ms), priority: 1, align: 'right' },
        { title: 'ERROR', value: ([, { error }]) => error, priority: 2, minWidth: 20 },
      ],
      Object.entries(probe.components),
    ),
  )
}
