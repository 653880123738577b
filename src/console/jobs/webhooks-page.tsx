import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { PaymentEvent, PaymentEventState } from '../../core/payments/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  ChoiceFilter,
  DataTable,
  Empty,
  Loaded,
  PageHeader,
  queryClient,
  Status,
  type TableColumn,
  type Tone,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { words } from './words.ts'

const tones = { waiting: 'waiting', applied: 'ok' } as const satisfies Record<PaymentEventState, Tone>
const choices = Object.keys(tones).map((value) => ({ value, label: value }))

const columnsWith = (replay: (event: PaymentEvent) => void, why: string | undefined): readonly TableColumn<PaymentEvent>[] => [
  { key: 'type', title: 'Type', width: 'minmax(200px, 1fr)', value: ({ type }) => type },
  {
    key: 'state',
    title: 'Status',
    width: '110px',
    value: ({ state }) => state,
    cell: ({ state }) => <Status tone={tones[state]}>{state}</Status>,
  },
  {
    key: 'received',
    title: 'Received',
    width: '110px',
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Ago at={createdAt} />,
  },
  { key: 'object', title: 'Object', width: 'minmax(140px, 1fr)', value: ({ objectId }) => objectId },
  { key: 'outcome', title: 'Outcome', width: 'minmax(160px, 2fr)', value: ({ outcome }) => outcome },
  { key: 'event', title: 'Event', width: 'minmax(140px, 1fr)', value: ({ id }) => id },
  {
    key: 'replay',
    title: 'Action',
    width: '90px',
    sortable: false,
    value: () => '',
    cell: (event) => (
      <Button look="quiet" why={why} onPress={() => replay(event)} aria-label={`${words.replay} ${event.id}`}>
        {words.replay}…
      </Button>
    ),
  },
]

export function Page() {
  const [{ state }] = useSearchState()
  const [replaying, setReplaying] = useState<PaymentEvent>()
  const { why } = useMay('webhooks', 'replayPaymentEvent')
  const events = useQuery({
    queryKey: ['webhooks', state ?? ''],
    queryFn: () => api.webhooks.listPaymentEvents({ query: { limit: 200, ...(state ? { state: state as PaymentEventState } : {}) } }),
  })
  return (
    <>
      <PageHeader title={words.webhooks} />
      <div className="toolbar">
        <ChoiceFilter label="Status" name="state" choices={choices} />
      </div>
      <Loaded query={events} rows={6}>
        {({ events: rows }) => (
          <DataTable
            label={words.webhooks}
            columns={columnsWith(setReplaying, why)}
            rows={rows}
            rowKey={({ id }) => id}
            empty={
              <Empty title={words.noEvents} tone="off">
                <p className="dim">{words.noEventsHint}</p>
              </Empty>
            }
          />
        )}
      </Loaded>
      {replaying && (
        <ActionDialog
          title={words.replayTitle(replaying.id)}
          consequence={words.replayConsequence}
          confirm={words.replay}
          cli={() => `tenantry webhooks replay ${replaying.id}`}
          run={async () => {
            await api.webhooks.replayPaymentEvent({ params: { id: replaying.id } })
            await queryClient.invalidateQueries({ queryKey: ['webhooks'] })
          }}
          onClose={() => setReplaying(undefined)}
        />
      )}
    </>
  )
}
