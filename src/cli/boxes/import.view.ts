import {
  type BoxCommandResult,
  type BoxImport,
  databaseCopyText,
  type ImportPlan,
  importHint,
  writtenText,
} from '../../core/boxes/index.ts'
import { bytesText, duration, plural } from '../../core/kit/index.ts'
import { clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'
import { stateText } from './await-command.ts'

export function importPlanView(plan: ImportPlan, style: Style, { slug }: { slug: string }): string {
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

function foundTable({ found: { chatServer, serverName, database, media, objects }, databaseCopy }: ImportPlan, style: Style): string {
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
          ...(databaseCopy ? ([['', databaseCopyText(databaseCopy)]] as const) : []),
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

const importTint = (state: BoxImport['state']): keyof Paint =>
  state === 'imported' || state === 'finished' ? 'green' : state === 'failed' ? 'red' : 'yellow'

/** An import as `boxes show` and the end of the command show it. */
export function importView(one: BoxImport, style: Style, { slug }: { slug: string }): string {
  return sections(importFields(one, style), importHint(one, slug))
}

const importFields = (one: BoxImport, style: Style): string =>
  fields(style, [
    ['import', style.paint[importTint(one.state)](stateText(one.state))],
    ['from', `${clean(one.project)} in ${clean(one.folder)}`],
    ['taken', one.facts && factsText(one.facts)],
    ['database', one.facts?.databaseCopy && clean(databaseCopyText(one.facts.databaseCopy))],
    ['left out', one.dropped.map(clean).join(', ')],
    ['addresses', one.facts?.addresses.map(clean).join(', ')],
    ['downtime', one.facts && duration(one.facts.downtimeMs)],
    ['reason', clean(one.reason)],
    ['by', clean(one.by)],
    ['started', stamp(one.startedAt, style.now)],
    ['imported', one.importedAt && stamp(one.importedAt, style.now)],
    ['lost by the undo', one.state === 'undone' ? writtenText(one.written) : undefined],
    ['error', one.error && `${clean(one.error.message)} [${clean(one.error.code)}]`],
  ])

const factsText = ({ rows, tables, events, linkedFiles, copiedFiles, comparedFiles }: NonNullable<BoxImport['facts']>): string =>
  `${rows} rows of ${plural(tables, 'table')}, ${plural(events, 'event')}; media: ${linkedFiles} linked, ${copiedFiles} copied, ${comparedFiles} compared`

export type ImportedState = BoxCommandResult<'tenant-box.import_state'>

/** The objects that the end of the return path removes, before it does. */
export const finishView = ({ importedAt, stack }: ImportedState, style: Style, { slug }: { slug: string }): string =>
  sections(
    `${slug} was imported ${stamp(importedAt, style.now)}. Finishing removes the stopped containers of ${clean(stack.project)}; there is no return then.`,
    ['Removed:', ...stack.containers.map((name) => `  container ${clean(name)}`)].join('\n'),
    stack.volumes.length === 0
      ? ''
      : ['Removed with --volumes, else left:', ...stack.volumes.map((name) => `  volume ${clean(name)}`)].join('\n'),
    `The folder of the stack stays. Finish: tenantry boxes import ${slug} --finish --reason '…' --yes`,
  )
