import type { ImportPlan } from '../../core/boxes/index.ts'
import { bytesText, duration, problem } from '../../core/kit/index.ts'
import { clean, command, flag, many, type Style, sections, table } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'

export const importBox = command('import <slug>', 'Plan the import of an adopted stack into a box', {
  options: {
    plan: flag('--plan', 'show what was found and what blocks the import (read-only)'),
    drop: many('--drop <name>', 'accept that the box lacks this, as the plan names it; comma-separated'),
  },
  run: async (context, { slug, plan, drop }): Promise<ImportPlan> => {
    if (!plan) throw problem('USAGE', 'only the plan of an import is available. fix: pass --plan')
    const { commandId } = await context.api.boxes.planImport({ params: { slug }, body: { drop: [...(drop ?? [])] } })
    const progress = await context.progress(`${slug}: reading the stack`)
    try {
      const { result } = await awaitAnswer(context, { id: commandId, slug }, (line) => progress.update(`${slug}: ${line}`))
      return (result as { plan: ImportPlan }).plan
    } finally {
      progress.stop()
    }
  },
  view: importPlanView,
  exit: ({ ready }) => (ready ? 0 : 7),
  examples: ['import anna-schule --plan', 'import anna-schule --plan --drop mail,federation'],
})

function importPlanView(plan: ImportPlan, style: Style, { slug }: { slug: string }): string {
  const { ready, blockers, warnings, downtimeMs, space } = plan
  const { paint } = style
  return sections(
    ready ? `${slug} ${paint.green('can be imported')}.` : `${slug} ${paint.red('cannot be imported yet')}.`,
    foundTable(plan, style),
    carriedTable(plan, style),
    droppedTable(plan, style),
    listed('Blocked:', blockers),
    listed('Warnings:', warnings),
    `Expected downtime ${duration(downtimeMs)}. Disk space needed ${bytesText(space.neededBytes)}, free ${bytesText(space.freeBytes)}${space.mediaIsLinked ? '; media are linked, not copied' : ''}.`,
  )
}

const listed = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [title, ...lines.map((line) => `  ${clean(line)}`)].join('\n')

function foundTable({ found: { chatServer, serverName, database, media, objects } }: ImportPlan, style: Style): string {
  const rows: (readonly [string, string])[] = [
    ...(serverName === null ? [] : ([['server name', serverName]] as const)),
    ...(chatServer
      ? ([
          ['chat server', `Synapse ${chatServer.version ?? 'unknown'} in ${chatServer.container}, since ${chatServer.startedAt}`],
          ['configuration', chatServer.configFiles.join(', ')],
        ] as const)
      : []),
    ...(database
      ? ([
          [
            'database',
            `${database.name} in ${database.container}, user ${database.user}, ${database.connections} connections of the chat server`,
          ],
          [
            'database server',
            `PostgreSQL ${database.version}, schema ${database.schemaVersion ?? 'unknown'}, ${bytesText(database.bytes)}`,
          ],
          [
            '',
            Object.entries(database.rows)
              .map(([name, count]) => `${count} ${name}`)
              .join(', '),
          ],
        ] as const)
      : []),
    ...(media
      ? ([
          [
            'media',
            `${media.path}, ${bytesText(media.bytes)}: ${media.named} files named, ${media.checked} checked, ${media.missing} missing`,
          ],
        ] as const)
      : []),
    ...(objects ? ([['objects', `${objects.container}, ${bytesText(objects.bytes)}`]] as const) : []),
  ]
  return table(
    style,
    [
      { title: 'FOUND', value: ([name]) => name, priority: 1 },
      { title: 'VALUE', value: ([, value]) => value, priority: 1, minWidth: 30 },
    ],
    rows,
  )
}

const carriedTable = ({ carried, replaced }: ImportPlan, style: Style): string =>
  table(
    style,
    [
      { title: 'ITEM', value: ({ name }) => name, priority: 1 },
      { title: 'IN THE BOX', value: ({ kind }) => kind, priority: 1 },
      { title: 'ORIGIN', value: ({ origin }) => origin, priority: 2, minWidth: 20 },
    ],
    [
      ...carried.map(({ kind, ...item }) => ({
        ...item,
        kind: kind === 'setting' ? 'same setting' : kind === 'secret' ? 'same secret' : 'same data',
      })),
      ...replaced.map((item) => ({ ...item, kind: 'set by the box template' })),
    ],
  )

const droppedTable = ({ dropped }: ImportPlan, style: Style): string =>
  dropped.length === 0
    ? ''
    : table(
        style,
        [
          { title: 'NOT CARRIED OVER', value: ({ name }) => name, priority: 1 },
          { title: 'ACCEPTED', value: ({ accepted }) => (accepted ? 'yes' : 'no'), priority: 1 },
          { title: 'CONSEQUENCE', value: ({ consequence }) => consequence, priority: 1, minWidth: 30 },
          { title: 'ORIGIN', value: ({ origins }) => origins.join('; '), priority: 2, minWidth: 20 },
        ],
        dropped,
      )
