import { createApp } from 'vue'
import App from './App.vue'
import { startLanguage } from './i18n/index.ts'
import { router } from './router.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/prose.css'

await startLanguage()
createApp(App).use(router).mount('#app')
