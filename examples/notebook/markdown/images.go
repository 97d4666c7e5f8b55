package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// wasImage marks a link that was an image.
const wasImage = "data-image"

// imagesAsLinks turns images into links: a page must not call other sites when it is opened.
type imagesAsLinks struct{}

// Transform implements parser.ASTTransformer.
func (imagesAsLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var images []*ast.Image
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if image, ok := n.(*ast.Image); ok && entering {
			images = append(images, image)
		}
		return ast.WalkContinue, nil
	})
	for _, image := range images {
		if outer, ok := image.Parent().(*ast.Link); ok { // a link in a link is none: keep the words
			outer.SetAttributeString(wasImage, []byte("true"))
			moveChildren(image, func(child ast.Node) { outer.InsertBefore(outer, image, child) })
			outer.RemoveChild(outer, image)
			continue
		}
		link := ast.NewLink()
		link.Destination, link.Title = image.Destination, image.Title
		link.SetAttributeString(wasImage, []byte("true"))
		moveChildren(image, func(child ast.Node) { link.AppendChild(link, child) })
		image.Parent().ReplaceChild(image.Parent(), image, link)
	}
}

func moveChildren(from ast.Node, to func(ast.Node)) {
	for child := from.FirstChild(); child != nil; child = from.FirstChild() {
		to(child)
	}
}
