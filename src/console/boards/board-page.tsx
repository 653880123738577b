import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { BoardFinding } from '../../core/boards/index.ts'
import { Ago, CliLine, KeyValues, Link, Loaded, PageHeader, Section, Status } from '../kit/index.ts'
import { Elements } from './elements.tsx'
import type { Mark } from './graph.tsx'
import { boardQuery, boardTones, checkQuery } from './queries.ts'
import { SpaceName } from './space-name.tsx'
import { words } from './words.ts'

export function Page() {
  const one = useParams({ strict: false }) as { slug: string; id: string }
  const board = useQuery(boardQuery(one))
  const check = useQuery(checkQuery(one))
  const marks = useMemo(() => marksOf(check.data?.findings ?? []), [check.data])
  return (
    <>
      <PageHeader
        title={board.data?.name ?? one.id}
        answer={board.data && <Status tone={boardTones[board.data.status]}>{board.data.status}</Status>}
      />
      <Loaded query={board} rows={6}>
        {(found) => (
          <>
            <KeyValues
              facts={[
                [
                  'Tenant',
                  <Link key="tenant" to={`/tenants/${one.slug}`}>
                    {one.slug}
                  </Link>,
                ],
                ['Space', found.spaceId && <SpaceName key="space" of={found} />],
                ['Version', `${found.version}${found.publishedVersion ? `, published ${found.publishedVersion}` : ''}`],
                ['Saved', <Ago key="saved" at={found.updatedAt} />],
              ]}
            />
            <Section title={words.findings}>
              <Loaded query={check} rows={2}>
                {({ findings }) => <Findings findings={findings} />}
              </Loaded>
            </Section>
            <Elements board={found} marks={marks} />
          </>
        )}
      </Loaded>
      <p className="dim">{words.kept}</p>
      <CliLine>{`tenantry boards check ${one.id} --tenant ${one.slug}`}</CliLine>
    </>
  )
}

function marksOf(findings: readonly BoardFinding[]): ReadonlyMap<string, Mark> {
  const marks = new Map<string, Mark>()
  for (const { elementId, severity, code } of findings)
    if (elementId && marks.get(elementId)?.tone !== 'failed')
      marks.set(elementId, { tone: severity === 'error' ? 'failed' : 'warning', text: code })
  return marks
}

function Findings({ findings }: Readonly<{ findings: readonly BoardFinding[] }>) {
  if (findings.length === 0) return <Status tone="ok">{words.sound}</Status>
  const errors = findings.filter(({ severity }) => severity === 'error').length
  return (
    <>
      <p>
        {errors > 0 ? (
          <Status tone="failed">{words.errors(errors)}</Status>
        ) : (
          <Status tone="warning">{words.warnings(findings.length)}</Status>
        )}
      </p>
      <ul className="lines">
        {findings.map(({ code, elementId, severity, message, path = [] }) => (
          <li key={`${code} ${elementId} ${message}`}>
            <Status tone={severity === 'error' ? 'failed' : 'warning'}>{code}</Status>
            <span className="grow">
              {elementId && <code>{elementId}</code>} {message}
              {path.length > 0 && <div className="dim">{`Path: ${path.join(' → ')}`}</div>}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
