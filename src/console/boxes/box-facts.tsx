import { type BoxDetail, snapshotChoiceText } from '../../core/boxes/index.ts'
import { Ago, Duration, type Fact, Id, Link, Status } from '../kit/index.ts'
import { driftTones } from './box-state.ts'
import { driftWords, words } from './words.ts'

/** Each component as it runs, beside what the manifest wants. */
export function Versions({ box: { driftReport, installed } }: Readonly<{ box: BoxDetail }>) {
  const rows = driftReport?.components ?? []
  if (rows.length === 0) return <p className="dim">{words.noReport}</p>
  return (
    <table className="grid stack">
      <thead>
        <tr>
          <th scope="col">Component</th>
          <th scope="col">Installed</th>
          <th scope="col">Manifest</th>
          <th scope="col">Drift</th>
          <th scope="col">Explanation</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ component, target, severity, explanation }) => (
          <tr key={component}>
            <th scope="row">{component}</th>
            <td data-label="runs">
              <code>{installed[component]}</code>
            </td>
            <td data-label="manifest">
              <code>{target}</code>
            </td>
            <td>
              <Status tone={driftTones[severity]}>{driftWords[severity]}</Status>
            </td>
            <td className="dim">{severity === 'none' ? '' : explanation}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export const factsOf = (box: BoxDetail): readonly Fact[] => [
  ['Tenant', <Link to={`/tenants/${box.slug}`}>{box.tenant}</Link>],
  ['Plan', `${box.plan} (tier ${box.tier})`],
  ['Host', <Link to={`/hosts/${box.host}`}>{`${box.host}${box.hostStatus === 'online' ? '' : ` (${box.hostStatus})`}`}</Link>],
  ['Chat domain', <Id>{box.chatDomain}</Id>],
  [
    'Public address',
    <a href={box.publicUrl} target="_blank" rel="noreferrer">
      {box.publicUrl}
    </a>,
  ],
  ['Maintenance', box.maintenance && `${box.maintenance.reason} (by ${box.maintenance.by})`],
  ['Window', box.window && windowWords(box.window)],
  ['On hold', box.heldBy?.replace(':', ' ')],
  ['Fence', box.fence && <Ago at={box.fence.since} />],
  ['Last report', <Ago at={box.reportedAt} />],
  ['Archive', box.archive && (box.archive.to === null ? 'no moment yet' : <Ago at={box.archive.to} />)],
  ['Last drill', box.lastProvenRestore ? <Ago at={box.lastProvenRestore.at} /> : box.live && 'never'],
  ['Next update', box.updateCopy && snapshotChoiceText(box.updateCopy)],
  ['Created', <Ago at={box.createdAt} />],
  ['Id', <Id>{box.boxId}</Id>],
]

const windowWords = ({ window, timeZone }: NonNullable<BoxDetail['window']>) =>
  `${window.map(({ days, from, to }) => `${days.length === 7 ? 'daily' : days.join(', ')} ${from} to ${to}`).join('; ')} (${timeZone})`

const componentWords = {
  chatApi: 'Chat API',
  chatSync: 'Sending a message',
  database: 'Database',
  objectStorage: 'Object storage',
} as const

export function Probe({ box: { probe } }: Readonly<{ box: BoxDetail }>) {
  if (!probe) return <p className="dim">{words.noProbe}</p>
  return (
    <>
      {probe.reason && <p>{probe.reason}</p>}
      <ul className="lines">
        {(Object.keys(componentWords) as (keyof typeof componentWords)[]).map((name) => {
          const { ok, ms, error } = probe.components[name]
          return (
            <li key={name}>
              <Status tone={ok ? 'ok' : 'failed'}>{componentWords[name]}</Status>
              <span className="grow dim">{error}</span>
              <Duration ms={ms} />
            </li>
          )
        })}
      </ul>
    </>
  )
}
