import { useQuery } from '@tanstack/react-query'
import { api, Loaded, PageHeader, PlainList, Section, Status, type Tone } from '../kit/index.ts'
import { useFormats } from './parts.tsx'
import { useSession } from './queries.ts'
import { useWords } from './words.tsx'

export function Page() {
  const { modules: words } = useWords()
  const { capabilities } = useSession()
  return (
    <>
      <PageHeader title={words.title} />
      <Installed />
      {capabilities.includes('manageMarketplace') && <Items />}
    </>
  )
}

const tones: Readonly<Record<string, Tone>> = { active: 'ok', installed: 'waiting' }

function Installed() {
  const { modules: words } = useWords()
  const { day } = useFormats()
  const query = useQuery({ queryKey: ['modules'], queryFn: () => api.modules.listInstallations() })
  return (
    <Section title={words.installed}>
      <Loaded query={query}>
        {({ modules }) => (
          <PlainList
            label={words.installed}
            rows={modules}
            rowKey={({ moduleId }) => moduleId}
            empty={words.none}
            columns={[
              { title: words.name, cell: ({ name }) => name },
              {
                title: words.version,
                isNamed: true,
                cell: ({ version, updateAvailable }) => (updateAvailable ? `${version}; ${words.update(updateAvailable)}` : version),
              },
              {
                title: words.status,
                cell: ({ status, paused, data_delete_at: until }) => (
                  <Status tone={paused ? 'waiting' : (tones[status] ?? 'off')}>
                    {paused ? words.paused : (words.statuses[status] ?? status)}
                    {until && `; ${words.dataUntil(day(until))}`}
                  </Status>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function Items() {
  const { modules: words, bills } = useWords()
  const { day } = useFormats()
  const query = useQuery({ queryKey: ['marketplace'], queryFn: () => api.marketplace.listMarketplaceSubscriptions() })
  return (
    <Section title={words.items}>
      <Loaded query={query}>
        {({ subscriptions }) => (
          <PlainList
            label={words.items}
            rows={subscriptions}
            rowKey={({ id }) => id}
            empty={words.noItems}
            columns={[
              { title: words.name, cell: ({ name }) => name },
              {
                title: words.version,
                isNamed: true,
                cell: ({ installedVersion, currentVersion, updateAvailable }) =>
                  updateAvailable ? `${installedVersion}; ${words.update(currentVersion)}` : installedVersion,
              },
              {
                title: words.status,
                cell: ({ status, withdrawn }) => {
                  if (status !== 'active') return <Status tone="off">{bills.cancelled}</Status>
                  return <Status tone={withdrawn ? 'warning' : 'ok'}>{withdrawn ? words.withdrawnItem : words.statuses.active}</Status>
                },
              },
              { title: words.until, isNamed: true, cell: ({ paidUntil }) => paidUntil && day(paidUntil) },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
