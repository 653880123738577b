import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { PaymentEvent, PaymentEventState } from '../../core/payments/index.ts'
import {
  ActionDialog,
  actionColumn,
  agoColumn,
  api,
  Empty,
  ListPage,
  queryClient,
  statusColumn,
  type TableColumn,
  type Tone,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { words } from './words.ts'

const tones = { waiting: 'waiting', applied: 'ok' } as const satisfies Record<PaymentEventState, Tone>

const columnsWith = (replay: (event: PaymentEvent) => void, why: string | undefined): readonly TableColumn<PaymentEvent>[] => [
  { key: 'type', title: 'Type', width: 'minmax(200px, 1fr)', value: ({ type }) => type },
  statusColumn(({ state }) => state, tones, { key: 'state' }),
  agoColumn(['received', 'Received'], ({ createdAt }) => createdAt),
  { key: 'object', title: 'Object', width: 'minmax(140px, 1fr)', value: ({ objectId }) => objectId },
  { key: 'outcome', title: 'Outcome', width: 'minmax(160px, 2fr)', value: ({ outcome }) => outcome },
  { key: 'event', title: 'Event', width: 'minmax(140px, 1fr)', value: ({ id }) => id },
  actionColumn(
    () => words.replay,
    ({ id }) => id,
    { why, press: replay },
  ),
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
    <ListPage
      title={words.webhooks}
      filters={[{ label: 'Status', name: 'state', choices: Object.keys(tones) }]}
      query={events}
      rows={({ events: rows }) => rows}
      columns={columnsWith(setReplaying, why)}
      rowKey={({ id }) => id}
      empty={
        <Empty title={words.noEvents} tone="off">
          <p className="dim">{words.noEventsHint}</p>
        </Empty>
      }
    >
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
    </ListPage>
  )
}
