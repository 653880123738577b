import type { TriedChannel } from '../../core/alerts/index.ts'
import { ActionDialog, api, Status } from '../kit/index.ts'
import { words } from './words.ts'

type TestDialogProps = Readonly<{
  /** The name of one channel; without it all are tested. */
  channel?: string
  onTried(tried: readonly TriedChannel[]): void
  onClose(): void
}>

export const TestDialog = ({ channel, onTried, onClose }: TestDialogProps) => (
  <ActionDialog
    title={channel === undefined ? words.testTitle : words.testOneTitle(channel)}
    consequence={<p>{channel === undefined ? words.testEffect : words.testOneEffect}</p>}
    confirm="Send"
    cli={() => `tenantry alerts test${channel === undefined ? '' : ` ${channel}`}`}
    run={async () => onTried((await api.alerts.testAlerts({ body: channel === undefined ? {} : { channel } })).tried)}
    onClose={onClose}
  />
)

/** The outcome of a test for each recipient. */
export const Tried = ({ tried }: Readonly<{ tried: readonly TriedChannel[] }>) => (
  <ul className="lines" aria-label={words.outcome}>
    {tried.map(({ channel, target, ok, says }) => (
      <li key={`${channel} ${target}`}>
        <Status tone={ok ? 'ok' : 'failed'}>{`${channel} to ${target}`}</Status>
        <span className="grow">{says}</span>
      </li>
    ))}
  </ul>
)
