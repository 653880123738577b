import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { AlertDetail } from '../../core/alerts/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  CliLine,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  queryClient,
  Section,
  Status,
  type Tone,
  useMay,
} from '../kit/index.ts'
import { alertTone } from './alert-tone.ts'
import { alertQuery } from './queries.ts'
import { subjectPage } from './subject-page.ts'
import { words } from './words.ts'

export function Page() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const query = useQuery(alertQuery(Number(id)))
  return (
    <>
      <PageHeader
        title={`${words.alert} ${id}`}
        answer={query.data && <Status tone={alertTone[query.data.alert.severity]}>{query.data.alert.title}</Status>}
        actions={query.data && <Actions detail={query.data} />}
      />
      <Loaded query={query} rows={8}>
        {(detail) => <Detail {...detail} />}
      </Loaded>
    </>
  )
}

function Detail({ alert, deliveries, ...sending }: AlertDetail) {
  const { subject, kind, status, firstAt, lastAt, count, body, command, acknowledgedBy, acknowledgedAt, closedAt, closedBecause } = alert
  const page = subjectPage(kind, subject)
  return (
    <>
      <Section title={words.next}>
        <CliLine>{command}</CliLine>
      </Section>
      <Section title={words.details}>
        <p className="prose">{body}</p>
        <KeyValues
          facts={[
            ['Subject', page === undefined ? subject : <Link to={page}>{subject}</Link>],
            ['Kind', kind],
            ['Status', status],
            ['First seen', <Ago at={firstAt} />],
            [
              'Last seen',
              count > 1 && (
                <>
                  <Ago at={lastAt} />, {count} times
                </>
              ),
            ],
            [
              'Acknowledged',
              acknowledgedBy && (
                <>
                  {acknowledgedBy}, <Ago at={acknowledgedAt} />
                </>
              ),
            ],
            [
              'Closed',
              closedAt && (
                <>
                  <Ago at={closedAt} />: {closedBecause}
                </>
              ),
            ],
          ]}
        />
      </Section>
      <Section title={words.messages}>
        {deliveries.length === 0 ? <p className="dim">{words.noMessages(sending)}</p> : <Deliveries deliveries={deliveries} />}
      </Section>
    </>
  )
}

const deliveryTones = { pending: 'waiting', held: 'waiting', sent: 'ok', dead: 'failed' } as const satisfies Record<string, Tone>

const Deliveries = ({ deliveries }: Pick<AlertDetail, 'deliveries'>) => (
  <ul className="lines">
    {deliveries.map(({ id, channel, target, status, attempts, lastError, createdAt, sentAt }) => (
      <li key={id}>
        <Status tone={deliveryTones[status]}>{status === 'dead' ? 'failed' : status}</Status>
        <span className="grow">
          {channel} to {target}
          {lastError && <div className="dim">{`${lastError} (${attempts} attempts)`}</div>}
        </span>
        <span className="aside">
          <Ago at={sentAt ?? createdAt} />
        </span>
      </li>
    ))}
  </ul>
)

type Asked = 'acknowledge' | 'resend'

function Actions({ detail: { alert } }: Readonly<{ detail: AlertDetail }>) {
  const { id, status, deliveries } = alert
  const [asked, setAsked] = useState<Asked>()
  const mayAcknowledge = useMay('alerts', 'acknowledgeAlert').why
  const mayResend = useMay('alerts', 'resendAlert').why
  const after = async (work: Promise<unknown>) => {
    await work
    await queryClient.invalidateQueries({ queryKey: ['alerts'] })
  }
  return (
    <>
      {deliveries.dead > 0 && (
        <Button why={mayResend} onPress={() => setAsked('resend')}>
          {words.resend}
        </Button>
      )}
      {status === 'open' && (
        <Button why={mayAcknowledge} onPress={() => setAsked('acknowledge')}>
          {words.acknowledge}
        </Button>
      )}
      {asked === 'acknowledge' && (
        <ActionDialog
          title={words.acknowledgeTitle(id)}
          consequence={<p>{words.acknowledgeEffect}</p>}
          confirm="Acknowledge"
          cli={() => `tenantry alerts acknowledge ${id}`}
          run={() => after(api.alerts.acknowledgeAlert({ params: { id } }))}
          onClose={() => setAsked(undefined)}
        />
      )}
      {asked === 'resend' && (
        <ActionDialog
          title={words.resendTitle(id)}
          consequence={<p>{words.resendEffect}</p>}
          confirm="Send"
          cli={() => `tenantry alerts resend ${id}`}
          run={() => after(api.alerts.resendAlert({ params: { id }, body: {} }))}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}
