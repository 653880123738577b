import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { VendorItem, VendorSubmission } from '../../core/marketplace/index.ts'
import { ActionDialog, api, Button, KeyValues, Link, Loaded, PageHeader, PlainList, Section } from '../kit/index.ts'
import { ContentForm, ItemStatus, priceText, SubmissionStatus } from './parts.tsx'
import { refresh } from './queries.ts'

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const query = useQuery({ queryKey: ['vendor', 'item', id], queryFn: () => api.vendor.showVendorItem({ params: { id } }) })
  const [isAsked, setAsked] = useState(false)
  const item = query.data
  const isOpen = item?.withdrawnAt === null
  return (
    <>
      <PageHeader
        title={item?.name ?? id}
        answer={item?.description}
        actions={isOpen && <Button onPress={() => setAsked(true)}>Withdraw…</Button>}
      />
      <Loaded query={query}>
        {(one) => (
          <>
            <KeyValues
              facts={[
                ['Status', <ItemStatus key="status" item={one} />],
                ['Version', one.version],
                ['Installations', one.installations],
                ['Price', priceText(one)],
                ['Id', one.id],
              ]}
            />
            <Versions versions={one.versions} />
            {isOpen && <NewVersion item={one} />}
          </>
        )}
      </Loaded>
      {item && isAsked && <Withdraw item={item} onClose={() => setAsked(false)} />}
    </>
  )
}

const Versions = ({ versions }: Readonly<{ versions: readonly VendorSubmission[] }>) => (
  <Section title="Versions">
    <PlainList
      label="Versions"
      rows={versions}
      rowKey={({ id }) => id}
      empty="No submission of this item"
      columns={[
        { title: 'Version', cell: ({ id, version }) => <Link to={`/submissions/${id}`}>{version}</Link> },
        { title: 'Status', cell: (submission) => <SubmissionStatus submission={submission} /> },
        { title: 'Review notes', isNamed: true, cell: ({ reviewNotes }) => reviewNotes },
      ]}
    />
  </Section>
)

function NewVersion({ item: { id } }: Readonly<{ item: VendorItem }>) {
  const navigate = useNavigate()
  return (
    <Section title="New version">
      <ContentForm
        hint="The content of a submission, with a greater version. Name and price of the item stay."
        submit="Submit for review"
        send={async (body) => {
          const sent = await api.vendor.submitVersion({ params: { id }, body })
          await refresh()
          await navigate({ to: `/submissions/${sent.id}` })
        }}
      />
    </Section>
  )
}

const Withdraw = ({ item: { id, name }, onClose }: Readonly<{ item: VendorItem; onClose(): void }>) => (
  <ActionDialog
    title={`Withdraw ${name}?`}
    consequence={
      <>
        <p>It can no longer be installed or updated, and gets no new version. Only an operator of the platform publishes it again.</p>
        <p>Organisations that have it keep it: a free item stays, a paid one ends with the period that is paid, without another charge.</p>
      </>
    }
    confirm="Withdraw"
    danger
    run={async () => {
      await api.vendor.withdrawItem({ params: { id } })
      await refresh()
    }}
    onClose={onClose}
  />
)
