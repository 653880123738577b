import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type ChannelState, rulesText, type TriedChannel } from '../../core/alerts/index.ts'
import { Ago, actionColumn, Button, CliLine, Empty, Link, ListPage, Status, type TableColumn, useMay } from '../kit/index.ts'
import { channelsQuery } from './queries.ts'
import { TestDialog, Tried } from './test-dialog.tsx'
import { words } from './words.ts'

const columns = (test: (row: ChannelState) => void, why: string | undefined): readonly TableColumn<ChannelState>[] => [
  { key: 'name', title: 'Name', width: 'minmax(96px, 1fr)', value: ({ name }) => name },
  { key: 'form', title: 'Form', width: '84px', value: ({ channel }) => channel },
  { key: 'recipient', title: 'Recipient', width: 'minmax(170px, 2fr)', value: ({ address }) => address },
  {
    key: 'alerts',
    title: 'Alerts',
    width: 'minmax(160px, 3fr)',
    value: rulesText,
    cell: (channel) => <span title={rulesText(channel)}>{rulesText(channel)}</span>,
  },
  { key: 'held', title: 'Held', width: '60px', align: 'right', value: ({ held }) => held },
  {
    key: 'last',
    title: 'Last message',
    width: 'minmax(160px, 2fr)',
    value: ({ last }) => last?.at ?? null,
    cell: ({ last }) => <Outcome last={last} />,
  },
  actionColumn(
    () => words.testOne,
    ({ name }) => name,
    { why, press: test },
  ),
]

const Outcome = ({ last }: Pick<ChannelState, 'last'>) =>
  last === null ? (
    <span className="dim">{words.noMessage}</span>
  ) : (
    <Status tone={last.error === null ? 'ok' : 'failed'} {...(last.error !== null && { title: last.error })}>
      {last.error === null ? last.status : 'failed'} <Ago at={last.at} />
    </Status>
  )

export function Page() {
  const query = useQuery(channelsQuery)
  const [testing, setTesting] = useState<ChannelState | 'all'>()
  const [tried, setTried] = useState<readonly TriedChannel[]>([])
  const { why } = useMay('alerts', 'testAlerts')
  return (
    <ListPage
      title={words.channels}
      answer={query.data && words.channelsAnswer(query.data.channels)}
      actions={
        <>
          <Link to="/alerts">{words.title}</Link>
          <Button why={why ?? (query.data?.channels.length === 0 ? words.noChannels : undefined)} onPress={() => setTesting('all')}>
            {words.test}
          </Button>
        </>
      }
      above={tried.length > 0 && <Tried tried={tried} />}
      query={query}
      rows={({ channels }) => channels}
      columns={columns(setTesting, why)}
      rowKey={({ channel, target }) => `${channel} ${target}`}
      empty={
        <Empty title={words.noChannels} tone="warning">
          <p>{words.noChannelsHint}</p>
        </Empty>
      }
      below={() => <CliLine>tenantry alerts channels</CliLine>}
    >
      {testing && (
        <TestDialog {...(testing === 'all' ? {} : { channel: testing.name })} onTried={setTried} onClose={() => setTesting(undefined)} />
      )}
    </ListPage>
  )
}
