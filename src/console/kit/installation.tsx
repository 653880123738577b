import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api } from './api.ts'

let [page, installation, critical] = ['', '', 0]

const writeTitle = () => {
  document.title = [`${critical > 0 ? `(${critical}) ` : ''}${page}`, installation, 'Tenantry'].filter(Boolean).join(' · ')
}

/** The title of the window: open critical alerts, the page, the installation. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    page = title
    writeTitle()
  }, [title])
}

/** How many open critical alerts the title of the window counts. */
export function useCriticalInTitle(count: number): void {
  useEffect(() => {
    critical = count
    writeTitle()
  }, [count])
}

const installationQuery = {
  queryKey: ['admin', 'installation'],
  queryFn: async () => (await api.service.readyz()).installation,
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: false,
} as const

/** The product, and which installation of it this is. */
export function Brand() {
  const name = useQuery(installationQuery).data ?? ''
  useEffect(() => {
    installation = name
    writeTitle()
  }, [name])
  return (
    <>
      <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        <rect width="16" height="16" rx="3" fill="#2b59c3" />
        <path d="M4 5h8M8 5v7" stroke="#fff" strokeWidth="2" strokeLinecap="round" />
      </svg>
      Tenantry
      {name && <span className="installation">{name}</span>}
    </>
  )
}
