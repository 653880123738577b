import {
  type BoxDetail,
  type BoxRow,
  boxState,
  formerDatabaseText,
  growthText,
  healthSentence,
  snapshotChoiceText,
  upgradeText,
} from '../../core/boxes/index.ts'
import { bytesText, duration } from '../../core/kit/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'
import { openingWords, windowWords } from '../tenants/index.ts'
import { lifecycleSections } from './lifecycle.view.ts'

/** Display text of a severity; `none` is shown as `in sync`. */
const severityWord = { none: 'in sync', minor: 'minor', major: 'major', unknown: 'unknown' } as const
export const severityTint = { none: 'green', minor: 'yellow', major: 'red', unknown: 'dim' } as const satisfies Record<string, keyof Paint>

export const severityText = (severity: keyof typeof severityWord): string => severityWord[severity]

const tints: Readonly<Record<string, keyof Paint>> = { running: 'green', failed: 'red', down: 'red' }
const stateTint = (box: BoxRow): keyof Paint => (box.fenceOverdue ? 'red' : (tints[boxState(box)] ?? 'yellow'))

/** Whether the chats of boxes run, in one line. */
export const healthLine = ({ isGood, text }: ReturnType<typeof healthSentence>, { paint }: Style): string =>
  isGood ? paint.green(text) : paint.red(clean(text))

const marks = ({ canary, managed, live, status, fenceOverdue, moving }: BoxRow) =>
  [
    canary && 'canary',
    !managed && 'observed',
    !live && status !== 'removed' && 'not live',
    fenceOverdue && 'fence overdue',
    moving?.state === 'stranded' && 'not running',
    moving && (moving.state === 'confirming' ? 'move to confirm' : `to ${moving.to}`),
  ]
    .filter(Boolean)
    .join(', ')

const columns = ({ now }: Style): Column<BoxRow>[] => [
  { title: 'BOX', value: ({ slug }) => slug, priority: 1, minWidth: 14 },
  { title: 'TIER', value: ({ tier }) => tier, priority: 3 },
  { title: 'HOST', value: ({ host }) => host, priority: 2, minWidth: 8 },
  { title: 'STATE', value: boxState, priority: 1, paint: stateTint },
  { title: 'DRIFT', value: ({ severity }) => severityText(severity), priority: 1, paint: ({ severity }) => severityTint[severity] },
  { title: 'SYNAPSE', value: ({ installed }) => installed.synapse, priority: 2 },
  { title: 'POSTGRES', value: ({ installed }) => installed.postgres, priority: 4 },
  { title: 'MINIO', value: ({ installed }) => installed.minio, priority: 5, minWidth: 12 },
  { title: 'LAST REPORT', value: ({ reportedAt }) => ago(reportedAt, now), priority: 3 },
  { title: 'ON HOLD', value: ({ heldBy }) => heldBy, priority: 4, minWidth: 8 },
  { title: 'MARKS', value: marks, priority: 2 },
]

type Page = Readonly<{ boxes: readonly BoxRow[]; nextCursor: string | null }>

export function boxList({ boxes, nextCursor }: Page, style: Style, filters: Readonly<Record<string, unknown>>): string {
  const headline = !style.quiet && !style.columns && boxes.some(({ health }) => health) ? healthLine(healthSentence(boxes), style) : ''
  if (boxes.length > 0)
    return sections(headline, table(style, columns(style), boxes), nextCursor ? `Next page: --cursor ${nextCursor}` : '')
  const filtered = Object.values(filters).some((value) => value !== undefined)
  return filtered
    ? 'No boxes match. All boxes: tenantry boxes list'
    : 'No boxes. Create one: tenantry boxes provision <slug> --host <host> --name <name> --plan light --domain <domain>'
}

export function boxView(box: BoxDetail, style: Style): string {
  const { paint, now } = style
  const facts = fields(style, [
    ['box', paint.bold(box.slug)],
    ['tenant', `${clean(box.tenant)} (${box.plan}, tier ${box.tier})`],
    ['state', `${paint[stateTint(box)](boxState(box))}${whySince(box, now)}`],
    ['marks', marks(box)],
    ['drift', `${paint[severityTint[box.severity]](severityText(box.severity))}${whyUnknown(box)}`],
    ['host', `${box.host}${box.hostStatus === 'online' ? '' : paint.yellow(` (${box.hostStatus})`)}`],
    ['chat domain', box.chatDomain],
    ['window', box.window && `${windowWords(box.window)}; ${openingWords(box.window, now)}`],
    ['public', clean(box.publicUrl)],
    ['internal', box.internalUrl && clean(box.internalUrl), 'detail'],
    ['folder', box.folder && clean(box.folder), 'detail'],
    ['on hold', box.heldBy && `${clean(box.heldBy).replace(':', ' ')}${box.heldUntil ? ` until ${stamp(box.heldUntil, now)}` : ''}`],
    ['last report', stamp(box.reportedAt, now) ?? 'never'],
    ['last check', stamp(box.last_drift_check_at, now), 'detail'],
    ['last snapshot', box.live ? snapshotWords(box, now) : undefined],
    ['archive', box.archive && archiveWords(box.archive, now)],
    ['last drill', box.live ? proofWords(box, now) : undefined],
    ['next update', box.updateCopy && snapshotChoiceText(box.updateCopy)],
    ['upgrade', box.upgradeRehearsal && rehearsalWords(box.upgradeRehearsal, now)],
    ...formerDatabases(box, now),
    ['size', box.growth && sizeWords(box.growth)],
    ['created', stamp(box.createdAt, now), 'detail'],
    ['id', box.boxId, 'detail'],
  ])
  return sections(
    facts,
    setUpError(box, style),
    ...lifecycleSections(box, style),
    driftTable(box, style),
    probeLine(box, style),
    findings(box),
  )
}

const whySince = ({ health }: BoxDetail, now: Date): string =>
  health?.why ? `${health.since ? ` since ${stamp(health.since, now)}` : ''}: ${clean(health.why)}` : ''

/** Why the drift is unknown, although versions were installed once. */
const whyUnknown = ({ severity, freshness, ...box }: BoxDetail): string =>
  severity !== 'unknown' || freshness === 'fresh' ? '' : `: ${unknownWords(freshness, box)}`

const unknownWords = (freshness: Exclude<BoxDetail['freshness'], 'fresh'>, { host, status }: Pick<BoxDetail, 'host' | 'status'>): string =>
  ({
    never: 'no report yet',
    stale: 'last report is stale',
    offline: `host ${host} is offline`,
    stopped: status === 'removed' ? 'box is removed' : 'no host runs it',
  })[freshness]

const snapshotWords = ({ lastSnapshot }: BoxDetail, now: Date) =>
  lastSnapshot ? `${lastSnapshot.snapshotId.slice(0, 8)} (${lastSnapshot.tier}), ${stamp(lastSnapshot.takenAt, now)}` : 'none'

const sizeWords = ({ bytes, days, totalBytes }: NonNullable<BoxDetail['growth']>) =>
  `${bytesText(totalBytes)}, ${growthText({ bytes, days })}`

/** Volumes that upgrades of PostgreSQL left behind, with the day of their removal. */
const formerDatabases = ({ report }: BoxDetail, now: Date): [string, string][] =>
  (report?.facts?.formerDatabases ?? []).map((former) => [
    'former database',
    `${clean(formerDatabaseText(former))}, kept until ${stamp(former.until, now)}`,
  ])

/** The latest rehearsal of a PostgreSQL upgrade. */
const rehearsalWords = (rehearsal: NonNullable<BoxDetail['upgradeRehearsal']>, now: Date): string =>
  `rehearsed ${ago(rehearsal.at, now)}: ${clean(upgradeText(rehearsal))}`

/** How far the store is, and the earliest moment that can be restored. */
const archiveWords = ({ from, to, error }: NonNullable<BoxDetail['archive']>, now: Date): string => {
  const covered = from === null || to === null ? 'no moment yet' : `up to ${stamp(to, now)}, from ${stamp(from, now)}`
  return error ? `${covered}: ${clean(error.message)} [${clean(error.code)}]` : covered
}

/** The last drill, or restore of the box itself, and its duration. */
const proofWords = ({ lastProvenRestore: proof }: BoxDetail, now: Date) =>
  proof ? `${stamp(proof.at, now)}${proof.durationMs === null ? '' : `, in ${duration(proof.durationMs)}`}` : 'never'

const afterFailure = (slug: string) =>
  `fix: correct the cause and repeat the command, or clean up: tenantry boxes remove ${slug} --reason '…'`

const setUpError = ({ slug, setUp, status }: BoxDetail, { paint }: Style) =>
  setUp.error && status !== 'ready'
    ? `${paint.red('Set-up failed:')} ${clean(setUp.error.message)} [${clean(setUp.error.code)}]${status === 'failed' ? `\n${afterFailure(slug)}` : ''}`
    : undefined

function driftTable({ driftReport, installed, freshness }: BoxDetail, style: Style): string | undefined {
  if (!driftReport || freshness === 'stopped') {
    const known = Object.entries(installed).filter(([, version]) => version !== 'unknown')
    const title = freshness === 'stopped' ? 'Last versions' : 'Installed'
    return known.length > 0 ? `${title}: ${known.map(([component, version]) => `${component} ${clean(version)}`).join(', ')}` : undefined
  }
  const versions = table(
    style,
    [
      { title: 'COMPONENT', value: (item) => item.component, priority: 1 },
      { title: 'INSTALLED', value: (item) => item.installed, priority: 1, minWidth: 10 },
      { title: 'MANIFEST', value: (item) => item.target, priority: 1, minWidth: 10 },
      { title: 'DRIFT', value: (item) => severityText(item.severity), priority: 1, paint: (item) => severityTint[item.severity] },
    ],
    driftReport.components,
  )
  const why = driftReport.components.filter(({ severity }) => severity !== 'none')
  return [versions, ...why.map(({ component, explanation }) => `${component}: ${clean(explanation)}`)].join('\n')
}

const probeLine = ({ probe }: BoxDetail, { paint, now }: Style) =>
  probe
    ? `Last probe ${probe.verdict === 'ok' ? paint.green('OK') : paint.red(probe.verdict)}, ${ago(probe.at, now)}${probe.reason ? `: ${clean(probe.reason)}` : ''}`
    : undefined

const findings = ({ findings }: BoxDetail) =>
  findings.length > 0 ? `Findings:\n${findings.map((finding) => `  ${clean(finding)}`).join('\n')}` : undefined
