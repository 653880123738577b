import { type UpgradeRehearsal, upgradeTimes, upgradeWays } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { bytesText, duration } from '../../core/kit/index.ts'
import { clean, command, fields, flag, type Style, sections, table, text } from '../kit/index.ts'
import { awaitWithProgress } from './await-command.ts'
import { followLine } from './follow.ts'

type Started = Readonly<{ commandId: string; image: string }>

const resultOf = (rehearsed: CommandView | Started): UpgradeRehearsal | undefined =>
  'result' in rehearsed ? (rehearsed.result as UpgradeRehearsal) : undefined

export const rehearseUpgrade = command('rehearse-upgrade <slug>', 'Rehearse a PostgreSQL upgrade on a copy beside the box', {
  options: {
    to: text('--to <image or major>', 'new image, or major version (default: the manifest)'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { slug, to, wait }): Promise<CommandView | Started> => {
    const started = await context.api.boxes.rehearseUpgrade({ params: { slug }, body: to === undefined ? {} : { to } })
    return wait ? awaitWithProgress(context, started.commandId, `${slug}: rehearsing the upgrade to ${started.image}`) : started
  },
  view: rehearsalView,
  exit: (rehearsed) => (resultOf(rehearsed)?.ok === false ? 1 : 0),
  examples: ['rehearse-upgrade anna-schule --to 17', 'rehearse-upgrade anna-schule --to registry.example/postgres:17.6 --json'],
})

function rehearsalView(rehearsed: CommandView | Started, style: Style, { slug }: { slug: string }): string {
  const result = resultOf(rehearsed)
  if (!result) return `Rehearsal started. Follow it: ${followLine(slug, (rehearsed as Started).commandId)}`
  const { ok, way, image, from, to, databaseBytes, dumpBytes, loadedBytes, tables, rows, downtimeMs, error, findings } = result
  const { paint } = style
  const size = (bytes: number | null) => (bytes === null ? undefined : bytesText(bytes))
  return sections(
    ok ? paint.green(`The upgrade of ${slug} was rehearsed; the box was not changed.`) : paint.red(`The upgrade of ${slug} is refused.`),
    error ? `${clean(error.message)} [${clean(error.code)}]` : '',
    fields(style, [
      ['PostgreSQL', `${clean(from ?? 'unknown')} → ${clean(to ?? 'unknown')} (${clean(image)})`],
      ['way', upgradeWays[way]],
      ['database', size(databaseBytes)],
      ['dump', size(dumpBytes)],
      ['loaded', size(loadedBytes)],
      ['compared', tables === null || rows === null ? undefined : `${tables} tables with ${rows} rows`],
      ['expected downtime', downtimeMs === null ? undefined : `${duration(downtimeMs)}, without stop and start of the containers`],
    ]),
    timesTable(result, style),
    ...findings.map(({ severity, code, message }) => {
      const line = `${code}: ${clean(message)}`
      return severity === 'refuse' ? paint.red(line) : paint.yellow(line)
    }),
  )
}

function timesTable({ times }: UpgradeRehearsal, style: Style): string {
  const measured = upgradeTimes(times).map(([part, ms]) => ({ part, ms }))
  if (measured.length === 0) return ''
  return table(
    style,
    [
      { title: 'PART', value: ({ part }) => part, priority: 1 },
      { title: 'DURATION', value: ({ ms }) => duration(ms), priority: 1 },
    ],
    measured,
  )
}
