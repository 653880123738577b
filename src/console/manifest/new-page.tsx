import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form, Label, Text, TextArea, TextField } from 'react-aria-components'
import type { ManifestRevision } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { api, Button, CliLine, Link, Loaded, Loading, PageHeader, ProblemView, Section, Status, useMay } from '../kit/index.ts'
import { ApplyDialog, type Proposal } from './apply-dialog.tsx'
import { Changes } from './changes.tsx'
import { revisionsQuery } from './queries.ts'
import { words } from './words.ts'
import './manifest.css'

const cli = 'tenantry manifest apply manifest.yaml'

/** The text of a manifest, its changes, and then the question whether to apply it. */
export function Page() {
  const revisions = useQuery(revisionsQuery)
  const [applied, setApplied] = useState<number>()
  return (
    <>
      <PageHeader
        title={words.newTitle}
        answer={applied !== undefined && <Status tone="ok">{words.applied(applied)}</Status>}
        actions={
          applied !== undefined && (
            <Link to="/plan" className="button primary">
              {words.plan}
            </Link>
          )
        }
      />
      <Loaded query={revisions} rows={10}>
        {({ revisions: [current] }) => <Start current={current} onApplied={setApplied} />}
      </Loaded>
    </>
  )
}

type Props = Readonly<{ current: ManifestRevision | undefined; onApplied(revision: number | undefined): void }>

/** The YAML of the current manifest is made once: refreshes must not change what somebody types. */
function Start({ current, onApplied }: Props) {
  const [manifest] = useState(current?.manifest)
  const start = useQuery({
    queryKey: ['admin', 'manifest-text', manifest],
    queryFn: async () => (manifest ? (await import('yaml')).stringify(manifest, { lineWidth: 0 }) : ''),
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return start.data === undefined ? <Loading rows={10} /> : <Editor start={start.data} onApplied={onApplied} />
}

function Editor({ start, onApplied }: Readonly<{ start: string; onApplied(revision: number | undefined): void }>) {
  const [text, setText] = useState(start)
  const [asking, setAsking] = useState(false)
  const { why } = useMay('boxes', 'applyManifest')
  const compare = useMutation({ mutationFn: proposalOf })
  const change = (next: string) => {
    setText(next)
    compare.reset()
    onApplied(undefined)
  }
  return (
    <>
      <Form
        className="manifest-form"
        onSubmit={(event) => {
          event.preventDefault()
          compare.mutate(text)
        }}
      >
        <TextField className="field" value={text} onChange={change} spellCheck="false">
          <Label>{words.text}</Label>
          <TextArea className="manifest-text" rows={24} />
          <Text slot="description">{words.textHint}</Text>
        </TextField>
        <Button type="submit" look={compare.data ? 'plain' : 'primary'} isDisabled={compare.isPending || text.trim() === ''}>
          {words.compare}
        </Button>
      </Form>
      {compare.isError && <ProblemView error={compare.error} />}
      {compare.data && <Found {...compare.data} why={why} onApply={() => setAsking(true)} />}
      {asking && compare.data && (
        <ApplyDialog
          {...compare.data}
          cli={cli}
          onApplied={(revision) => {
            compare.reset()
            onApplied(revision)
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

const Found = ({ revision, changes, why, onApply }: Proposal & Readonly<{ why: string | undefined; onApply(): void }>) => (
  <Section
    title={changes.length === 0 ? words.noChange(revision) : words.changed(changes.length, revision)}
    aside={
      changes.length > 0 && (
        <Button look="primary" why={why} onPress={onApply}>
          {words.apply}
        </Button>
      )
    }
  >
    {changes.length > 0 && <Changes changes={changes} label={words.changed(changes.length, revision)} />}
    <CliLine>tenantry manifest diff manifest.yaml</CliLine>
  </Section>
)

/** Throws MANIFEST_INVALID with the fields that are wrong, or the line that is not YAML. */
async function proposalOf(text: string): Promise<Proposal> {
  const { parse } = await import('yaml')
  let manifest: unknown
  try {
    manifest = parse(text)
  } catch (error) {
    throw problem('MANIFEST_INVALID', words.notText((error as Error).message.split('\n')[0]?.replace(/:$/, '') ?? ''))
  }
  const { revision, changes } = await api.boxes.diffManifest({ body: { manifest } })
  return { manifest, revision, changes }
}
