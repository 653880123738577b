import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import type { Passkey } from '../../core/admin/index.ts'
import { ActionDialog, agoColumn, api, Button, Empty, ListPage, queryClient, type TableColumn, useWhoAmI } from '../kit/index.ts'
import { arePasskeysSupported, createPasskey } from './passkey.ts'
import { words } from './passkeys-words.ts'
import { useLoginWays } from './target.ts'

/** The caller's own passkeys. */
export function Page() {
  const query = useQuery({ queryKey: ['passkeys', 'own'], queryFn: () => api.admin.listPasskeys() })
  const [isAdding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Passkey>()
  const why = useWhyNot()
  const columns: readonly TableColumn<Passkey>[] = [
    { key: 'name', title: 'Passkey', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
    agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
    agoColumn(['used', 'Last used'], ({ lastUsedAt }) => lastUsedAt, { none: words.never }),
    {
      key: 'remove',
      title: 'Action',
      width: '120px',
      sortable: false,
      pinned: true,
      value: () => null,
      cell: (passkey) => (
        <Button look="quiet" onPress={() => setRemoving(passkey)} aria-label={`${words.remove} ${passkey.name}`}>
          {words.remove}
        </Button>
      ),
    },
  ]
  return (
    <ListPage
      title={words.title}
      answer={query.data && words.answer(query.data.passkeys.length)}
      actions={
        <Button look="primary" why={why} onPress={() => setAdding(true)}>
          {words.add}
        </Button>
      }
      query={query}
      rows={({ passkeys }) => passkeys}
      columns={columns}
      rowKey={({ id }) => id}
      empty={
        <Empty title={words.answer(0)} tone="off">
          <p>{why ?? words.hint}</p>
        </Empty>
      }
    >
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
      {removing && <RemoveDialog passkey={removing} onClose={() => setRemoving(undefined)} />}
    </ListPage>
  )
}

/** Why no passkey can be added here. */
function useWhyNot(): string | undefined {
  const [login, ways] = [useWhoAmI()?.login, useLoginWays()]
  if (login === 'provider') return words.atProvider
  if (ways && !ways.passkeys) return words.needName
  return arePasskeysSupported() ? undefined : words.unsupported
}

const changed = () => queryClient.invalidateQueries({ queryKey: ['passkeys'] })

function AddDialog({ onClose }: Readonly<{ onClose(): void }>) {
  const [name, setName] = useState('')
  return (
    <ActionDialog
      title={words.addTitle}
      consequence={<p>{words.addEffect}</p>}
      confirm="Add passkey"
      isComplete={name.trim() !== ''}
      run={async () => {
        const credential = await createPasskey(await api.admin.beginPasskey())
        await api.admin.addPasskey({ body: { name, credential } })
        await changed()
      }}
      onClose={onClose}
    >
      <TextField className="field" value={name} onChange={setName} maxLength={40} autoComplete="off" autoFocus>
        <Label>{words.name}</Label>
        <Input />
      </TextField>
    </ActionDialog>
  )
}

function RemoveDialog({ passkey: { id, name }, onClose }: Readonly<{ passkey: Passkey; onClose(): void }>) {
  return (
    <ActionDialog
      title={words.removeTitle(name)}
      consequence={<p>{words.removeEffect}</p>}
      confirm="Remove passkey"
      danger
      run={async () => {
        await api.admin.removePasskey({ params: { id } })
        await changed()
      }}
      onClose={onClose}
    />
  )
}
