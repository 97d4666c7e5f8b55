package panel

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
)

//go:embed assets
var embedded embed.FS

// assets serves the style, the scripts and the icon. A browser asks again each time and is told that nothing has changed: an
// upgrade shows at once.
func assets() http.Handler {
	root, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	tag := `"` + digest(root) + `"`
	files := http.FileServerFS(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		files.ServeHTTP(w, r)
	})
}

// digest is of all files.
func digest(root fs.FS) string {
	sum := sha256.New()
	_ = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			text, _ := fs.ReadFile(root, path)
			sum.Write([]byte(path))
			sum.Write(text)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:20]
}
